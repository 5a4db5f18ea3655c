"""Selects the reader for a client and parses a line with it."""

import json
from collections.abc import Callable, Mapping
from typing import cast

from mcp_memory.capture.readers import claude_code, codex, gemini, openclaw, own_format
from mcp_memory.capture.readers.message import ReaderContext, Table, TranscriptMessage

CHAT = "chat"
"""The client of `mcp-memory chat`, whose transcripts are in the state folder."""

READERS: Mapping[str, Callable[[Table, int, ReaderContext], list[TranscriptMessage]]] = {
    "claude-code": claude_code.parse_line,
    "codex": codex.parse_line,
    "openclaw": openclaw.parse_line,
    "gemini": gemini.parse_line,
    CHAT: own_format.parse_line,
}

_SKIPPED = {"claude-code": claude_code.SKIPPED_LINE, "codex": codex.SKIPPED_LINE}


def can_skip_line(client: str, data: bytes) -> bool:
    """Return whether the first bytes show that a line has no message. Most lines of a transcript have none, so this
    saves parsing them."""
    return client in _SKIPPED and _SKIPPED[client].match(data) is not None


def parse_line(client: str, data: bytes, offset: int, context: ReaderContext) -> list[TranscriptMessage] | None:
    """Return the messages of one line, or None if it is not a JSON object."""
    if not data.strip():
        return []
    try:
        line: object = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return READERS[client](cast("Table", line), offset, context) if isinstance(line, dict) else None
