"""Parses a streamed answer: server-sent events in OpenAI's format. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mcp_memory.summarizers.base import MOST_ANSWER_BYTES

_DATA = b"data:"
_END = b"[DONE]"


@dataclass
class AnswerStream:
    """A streamed answer. `text` is the text so far. `cut`: the model or our limit ended the answer early; `failed`: an
    event wasn't part of an answer."""

    text: str = ""
    cut: bool = False
    failed: bool = False
    _line: bytearray = field(default_factory=bytearray)

    def feed(self, received: bytes) -> Iterator[str]:
        """Yield the pieces of text that the received bytes complete."""
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
            choice: Any = choices[0] if choices else {}  # the last event may contain only a token count
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
