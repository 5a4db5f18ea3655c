"""OpenClaw: events in `~/.openclaw/agents/<agent>/agent/openclaw-agent.sqlite`; versions before 2026.9 wrote the same
events as lines of `~/.openclaw/agents/<agent>/sessions/<session>.jsonl`.

As seen with version 2026.9.6.
"""

from __future__ import annotations

from mcp_memory.capture.readers.context import ReaderContext
from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.readers.spoken_text import (
    Table,
    given_back,
    message_from,
    parts,
    table,
    text,
    without_memory,
    words_of,
)

_NOT_A_PERSON = ("System: [", "[cron:", "[Subagent Context]", "[Subagent Task]", "[Inter-session message]")


def read(line: Table, offset: int, context: ReaderContext) -> list[TranscriptMessage]:
    """The messages of one event."""
    kind = line.get("type")
    if kind == "session":
        context.session = context.session or text(line.get("id"))
        context.folder = text(line.get("cwd")) or context.folder
    if kind != "message":
        return []
    message, at = table(line.get("message")), line.get("timestamp")
    content = parts(message.get("content"))
    match message.get("role"):
        case "user" if context.delegated or _is_by_somebody_else(message):
            return message_from(Role.ASSISTANT, content, at, context.session, offset, by="Program")
        case "user":
            spoken = [{**part, "text": without_memory(text(part.get("text")))} for part in content if "text" in part]
            others = [part for part in content if "text" not in part]
            return message_from(Role.USER, [*spoken, *others], at, context.session, offset)
        case "assistant":
            return message_from(Role.ASSISTANT, content, at, context.session, offset)
        case "toolResult":
            failed = message.get("isError") is True or table(message.get("details")).get("exitCode") not in (None, 0)
            tool, output = text(message.get("toolName")), words_of(message.get("content"))
            return given_back(tool, output, at, context.session, offset, failed=failed)
        case _:
            return []


def _is_by_somebody_else(message: Table) -> bool:
    """Another session, a scheduled job, or a stranger in a chat that the agent reads."""
    origin = table(message.get("provenance")).get("kind")
    if origin not in (None, "external_user") or table(message.get("__openclaw")).get("senderIsOwner") is False:
        return True
    return words_of(message.get("content")).lstrip().startswith(_NOT_A_PERSON)
