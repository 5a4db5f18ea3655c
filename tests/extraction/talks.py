"""Messages built by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.readers.own_format import write_plain
from mcp_memory.extraction.candidate_ingest import IngestResult
from mcp_memory.text.conversation.messages import Turn
from tests.support.keyword_engine import KeywordEngine

AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


def person(text: str, offset: int = 0, at: datetime | None = AT) -> TranscriptMessage:
    return TranscriptMessage(Role.USER, Turn("Ada", text, at), offset)


def assistant(text: str, offset: int = 0, at: datetime | None = AT) -> TranscriptMessage:
    return TranscriptMessage(Role.ASSISTANT, Turn("Assistant", text, at), offset)


def tool(text: str, offset: int = 0, *, name: str = "Bash", failed: bool = False) -> TranscriptMessage:
    return TranscriptMessage(Role.TOOL, Turn("Tool", text, AT), offset, name, failed)


async def take(engine: KeywordEngine, messages: Sequence[TranscriptMessage], session: str = "s"):
    return await ingest(engine, "talk.jsonl", "claude-code", session, messages)


async def ingest(
    engine: KeywordEngine,
    file: str,
    client: str,
    session: str,
    messages: Sequence[TranscriptMessage],
    project: str | None = None,
):
    said = {"file": file, "client": client, "session": session, "messages": write_plain(messages), "project": project}
    return IngestResult(**await engine.perform("extract", said))
