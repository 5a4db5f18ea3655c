"""Reads OpenClaw's events from `~/.openclaw/agents/<agent>/agent/openclaw-agent.sqlite`; versions before 2026.9 wrote
the same events as lines of `~/.openclaw/agents/<agent>/sessions/<session>.jsonl`.

An event's number serves as the offset of a line. The database is only read, without waiting for its writer. As seen
with version 2026.9.6.
"""

import re
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from mcp_memory.capture.readers.lines import STEP_BYTES, LineBatch, TranscriptLine
from mcp_memory.capture.readers.message import (
    ReaderContext,
    Role,
    Table,
    TranscriptMessage,
    content_parts,
    join_text,
    make_message,
    make_tool_message,
    pop_call,
    remember_call,
    strip_memory,
)
from mcp_memory.models import CHANNEL
from mcp_memory.projects.repository_facts import MAX_LABEL_CHARS
from mcp_memory.text.conversation.typed_words import typed_words
from mcp_memory.text.parsed_values import table_at, text_at, value_at

_CONVERSATION = re.compile(
    r"agent:[^:]+:((?:[^:]+:){0,2}(?:group|channel):.+?)(?::(?:thread|topic):.*)?", re.IGNORECASE
)
MOST_SPAWNERS = 8
"""Sub-agents in sub-agents, up to the conversation that they belong to."""


def parse_line(line: Table, offset: int, context: ReaderContext) -> list[TranscriptMessage]:
    """Return the messages of one event."""
    kind = line.get("type")
    if kind == "session":
        context.session = context.session or text_at(line, "id")
        context.folder = text_at(line, "cwd") or context.folder
    if kind != "message":
        return []
    message, at = table_at(line, "message"), line.get("timestamp")
    content = content_parts(message.get("content"))
    match message.get("role"):
        case "user" if context.delegated or _is_by_another(message):
            return make_message(Role.ASSISTANT, content, at, context.session, offset, by="Program")
        case "user":
            spoken = [
                {**part, "text": typed_words(strip_memory(text_at(part, "text")))} for part in content if "text" in part
            ]
            others = [part for part in content if "text" not in part]
            return make_message(Role.USER, [*spoken, *others], at, context.session, offset)
        case "assistant":
            for part in content:
                remember_call(context, part.get("id"), part.get("name"), part.get("arguments"))
            return make_message(Role.ASSISTANT, content, at, context.session, offset)
        case "toolResult":
            failed = message.get("isError") is True or value_at(message, "details", "exitCode") not in (None, 0)
            (_, arguments), tool = pop_call(context, message.get("toolCallId")), text_at(message, "toolName")
            output = join_text(message.get("content"))
            return make_tool_message((tool, arguments), output, at, context.session, offset, failed=failed)
        case _:
            return []


def _is_by_another(message: Table) -> bool:
    """Return whether another session, a scheduled job, or a stranger in a chat that the agent reads wrote it."""
    origin = value_at(message, "provenance", "kind")
    if origin not in (None, "external_user") or value_at(message, "__openclaw", "senderIsOwner") is False:
        return True
    text = join_text(message.get("content"))
    return bool(text.strip()) and not typed_words(text).strip()


MOST_EVENTS = 2000
"""The most events of a batch."""


def list_session_ids(file: Path) -> Sequence[str]:
    """List the sessions in a database. Raises OSError if it is busy or not OpenClaw's."""
    with _opened(file) as database:
        return [str(name) for (name,) in database.execute("SELECT DISTINCT session_id FROM transcript_events")]


def measure_session(file: Path, session: str) -> tuple[int, int]:
    """Return the number after the last event, and the bytes of text. Raises the errors of `list_session_ids`."""
    query = (
        "SELECT coalesce(max(seq) + 1, 0), coalesce(sum(coalesce(event_utf8_bytes, length(event_json))), 0)"
        " FROM transcript_events WHERE session_id = ?"
    )
    with _opened(file) as database:
        return database.execute(query, [session]).fetchone()


def find_conversation(file: Path, session: str) -> str | None:
    """Return the project of a group's or channel's session, as the plugin names it, and of its sub-agents' sessions;
    None for any other session. Other people's direct messages are not captured as yours. Raises the errors of
    `list_session_ids`."""
    query = "SELECT session_key, spawned_by FROM session_windows WHERE session_id = ?"
    with _opened(file) as database, suppress(sqlite3.OperationalError):  # another version has no such table
        row = database.execute(query, [session]).fetchone() or ("", "")
        for _ in range(MOST_SPAWNERS):
            if found := _CONVERSATION.fullmatch(row[0]):
                return f"{CHANNEL}{found[1]}"[:MAX_LABEL_CHARS]
            query = query.replace("session_id =", "session_key =")
            row = database.execute(query, [row[1]]).fetchone() or (row[1] or "", "")
    return None


def read_rows(file: Path, session: str, start: int) -> LineBatch:
    """Read the events from number `start` on; a compressed event is treated as too long. Raises the errors of
    `list_session_ids`."""
    lines: list[TranscriptLine] = []
    left, number, too_long = STEP_BYTES, start, 0
    query = "SELECT seq, event_json FROM transcript_events WHERE session_id = ? AND seq >= ? ORDER BY seq LIMIT ?"
    with _opened(file) as database:
        for seq, event in database.execute(query, [session, start, MOST_EVENTS]):
            number = int(seq) + 1
            if event is None:
                too_long += 1
                continue
            data = str(event).encode("utf-8", "surrogatepass")
            lines.append(TranscriptLine(int(seq), data))
            left -= len(data)
            if left <= 0:
                break
    is_all = left > 0 and len(lines) + too_long < MOST_EVENTS
    return LineBatch(tuple(lines), number, in_long_line=False, long_line_count=too_long, at_end=is_all)


@contextmanager
def _opened(file: Path) -> Generator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, timeout=1)) as database:
            yield database
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        raise OSError(f"OpenClaw's database cannot be read: {name}") from error
