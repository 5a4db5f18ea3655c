"""The readers by the client's name, and one line read by any of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import cast

from mcp_memory.capture.readers import claude_code, codex, openclaw
from mcp_memory.capture.readers.context import ReaderContext
from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.capture.readers.spoken_text import Table

Read = Callable[[Table, int, ReaderContext], list[TranscriptMessage]]

READERS: Mapping[str, Read] = {"claude-code": claude_code.read, "codex": codex.read, "openclaw": openclaw.read}

_SILENT: Mapping[str, Callable[[bytes], bool]] = {"claude-code": claude_code.is_silent, "codex": codex.is_silent}


def is_silent(client: str, data: bytes) -> bool:
    """Whether a glance at a line says that it holds nothing: most of a transcript, and not worth parsing."""
    return client in _SILENT and _SILENT[client](data)


def messages_of(client: str, data: bytes, offset: int, context: ReaderContext) -> list[TranscriptMessage] | None:
    """What one line holds; None for a line that is no JSON object."""
    if not data.strip():
        return []
    try:
        line: object = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return READERS[client](cast("Table", line), offset, context) if isinstance(line, dict) else None
