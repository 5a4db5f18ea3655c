"""Reads an answer that an endpoint sends piece by piece, as server-sent events in OpenAI's form. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mcp_memory.summarizers.base import MOST_ANSWER_BYTES

_DATA = b"data:"
_END = b"[DONE]"


@dataclass
class AnswerStream:
    """`text` is what has come so far. `cut`: the model, or our limit, ended it early; `failed`: an event was no part of
    an answer."""

    text: str = ""
    cut: bool = False
    failed: bool = False
    _line: bytearray = field(default_factory=bytearray)

    def feed(self, received: bytes) -> Iterator[str]:
        """The pieces of text that bytes complete."""
        self._line += received
        while (end := self._line.find(b"\n")) >= 0 and not self.is_over:
            line = bytes(self._line[:end]).strip()
            del self._line[: end + 1]
            if line.startswith(_DATA) and (event := line[len(_DATA) :].strip()) != _END:
                yield from self._read(event)
        self.cut = self.cut or len(self._line) > MOST_ANSWER_BYTES

    @property
    def is_over(self) -> bool:
        return self.cut or self.failed

    def _read(self, event: bytes) -> Iterator[str]:
        try:
            choices: Any = json.loads(event)["choices"]
            choice: Any = choices[0] if choices else {}  # the last event may only count tokens
            delta: Any = choice.get("delta") or {}
            piece: Any = delta.get("content") or delta.get("refusal") or ""
            self.cut = choice.get("finish_reason") == "length"
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            piece = None
        if not isinstance(piece, str):
            self.failed = True
        elif piece:
            self.text += piece
            self.cut = self.cut or len(self.text) > MOST_ANSWER_BYTES
            yield piece
