"""Messages built by hand."""

from __future__ import annotations

from datetime import UTC, datetime

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.text.conversation.messages import Turn

AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


def person(text: str, offset: int = 0, at: datetime | None = AT) -> TranscriptMessage:
    return TranscriptMessage(Role.USER, Turn("Ada", text, at), offset)


def assistant(text: str, offset: int = 0) -> TranscriptMessage:
    return TranscriptMessage(Role.ASSISTANT, Turn("Assistant", text, AT), offset)


def tool(text: str, offset: int = 0, *, name: str = "Bash", failed: bool = False) -> TranscriptMessage:
    return TranscriptMessage(Role.TOOL, Turn("Tool", text, AT), offset, name, failed)
