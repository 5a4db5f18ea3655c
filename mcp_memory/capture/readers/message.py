"""A message of a transcript, and the part of its text that was spoken."""

import json
import re
import shlex
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, cast

from mcp_memory.errors import InvalidInput
from mcp_memory.text.conversation.messages import Turn, read_turns
from mcp_memory.text.conversation.off_record import off_record
from mcp_memory.text.parsed_values import list_at, table_at, text_at
from mcp_memory.tool_names import APPEND, RECALL, TOOLS


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True)
class TranscriptMessage:
    """A message. `turn` has the speaker, the time and the text; for a tool, its output. Its line begins at the byte
    `offset`. `tool` is the tool's name; `failed`: it reported a failure; `arguments`: the beginnings of its text
    arguments, such as `command` or `file_path`."""

    role: Role
    turn: Turn
    offset: int
    tool: str = ""
    failed: bool = False
    arguments: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)

    @property
    def text(self) -> str:
        return self.turn.text

    @property
    def at(self) -> datetime | None:
        return self.turn.at

    @property
    def is_persons(self) -> bool:
        return self.role is Role.USER

    @property
    def is_assistants(self) -> bool:
        return self.role is Role.ASSISTANT

    @property
    def is_call(self) -> bool:
        return self.role is Role.TOOL


Transcript = Sequence[TranscriptMessage]
"""The messages of a session, or of a part of it, in order."""


class Silence(StrEnum):
    """The length of a time in which nothing of a session is kept."""

    NONE = ""
    TURN = "turn"
    NEXT = "next turn"
    """This turn and the next one."""
    SESSION = "session"


MOST_CALLS = 200
"""The most tool calls without a result yet; the oldest are dropped first."""

MOST_SILENCES = 200
MOST_NAME_CHARS = 200
MOST_ARGUMENT_CHARS = 2000


@dataclass
class ReaderContext:
    """The facts that later lines need from earlier ones; readers change it."""

    session: str = ""
    """The client's id of the session, once a line has given it."""
    folder: str = ""
    """The agent's working folder, as last given."""
    project: str | None = None
    """The project of the latest working folder that still existed, since worktrees vanish; readers don't change it."""
    delegated: bool = False
    """Whether another agent gives the tasks, according to the transcript or the hook."""
    calls: dict[str, str] = field(default_factory=dict[str, str])
    """Id of a tool call → name of the tool."""
    arguments: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """Id of a tool call → its texts."""
    silence: Silence = Silence.NONE
    """Whether the person wants nothing kept of the messages to come. Readers don't change it."""
    turn_at: int = -1
    """The offset of the person's last message."""
    turn_began: str = ""
    """The time of that wish, ISO 8601."""
    withdrawn: list[list[int]] = field(default_factory=list[list[int]])
    """The beginnings and ends of what the person took back in a copy of the transcript, as offsets."""
    silences: list[list[str]] = field(default_factory=list[list[str]])
    """The beginnings and ends of times from which nothing may be kept; the last time may have no end yet. A sub-agent
    has the silences of its session."""

    def __post_init__(self) -> None:
        self.silence = Silence(self.silence)  # a checkpoint has its text


def remember_call(context: ReaderContext, call_id: object, tool: object, arguments: object) -> None:
    """Keep a call until its result comes."""
    if isinstance(call_id, str) and isinstance(tool, str):
        context.calls[call_id[:MOST_NAME_CHARS]] = tool[:MOST_NAME_CHARS]
        context.arguments[call_id[:MOST_NAME_CHARS]] = text_arguments(arguments)
        while len(context.calls) > MOST_CALLS:
            pop_call(context, next(iter(context.calls)))


def pop_call(context: ReaderContext, call_id: object) -> tuple[str, dict[str, str]]:
    """Remove a call that has been answered and return the tool's name and arguments."""
    name = call_id[:MOST_NAME_CHARS] if isinstance(call_id, str) else ""
    return context.calls.pop(name, ""), context.arguments.pop(name, {})


def text_arguments(given: object) -> dict[str, str]:
    """Return the beginnings of the texts among a call's arguments. A string is a table in JSON, or one `input`, such as
    a patch; a list of words is a command."""
    found = given
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            found = cast("object", json.loads(given))
    table = table_at(found) or ({"input": given} if isinstance(given, str) else {})
    texts = {name: text_at(table, name) or shlex.join(map(str, list_at(table, name))) for name in table}
    return {name[:MOST_NAME_CHARS]: text[:MOST_ARGUMENT_CHARS] for name, text in texts.items() if text}


Table = Mapping[str, Any]

_MARKED = re.compile(r"<<<([0-9a-f]{8,64})(?: [^\n]*)?\n")
"""Start of notes of ours that a hook or plugin put in front of a prompt …"""
_MARK_END = re.compile(r"(?<![0-9a-f])([0-9a-f]{8,64})>>>")
"""… and their end."""

MOST_OUTPUT_CHARS = 24_000
"""The tool output that is read: six times the output that is kept, with room for a secret at the cut."""

_OURS = (*TOOLS, "memory_get")
"""Clients put different things before these names."""

WENT_WELL = "ok"
"""The output of a tool call that succeeded silently. In captures it replaces that of every call that succeeded."""

_ASKS_THE_PERSON = re.compile(r"ask_?(?:user|followup|question)|request_?user_?input", re.IGNORECASE)
_ANSWER = re.compile(
    r"\"=\"(.*?)\"(?=, \"| selected | user notes|\.? You can now|\W*\Z)|\buser notes: ([^\n]*)", re.DOTALL
)
_REASON = re.compile(
    r"\bthe user (?:said|provided the following reason[^:\n]{0,80}):\s*(.+)", re.DOTALL | re.IGNORECASE
)
"""Matches the person's words in the answer of a tool that asks, and in the refusal of a call."""
_IN_JSON = re.compile(r"[:\[,]\s*\"((?:[^\"\\]|\\.)*)\"(?!\s*:)")

_SPEAKERS = {Role.USER: "User", Role.ASSISTANT: "Assistant"}


def content_parts(content: object) -> list[Table]:
    """Return the parts of a message's content; a string is one part."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, Sequence):
        return []
    return [cast("Table", part) for part in cast("Sequence[object]", content) if isinstance(part, Mapping)]


def join_text(content: object) -> str:
    """Join all text in a content."""
    return "\n".join(text for part in content_parts(content) if (text := text_at(part, "text")))


def make_message(
    role: Role, content: Sequence[Table], at: object, session: str, offset: int, *, by: str = ""
) -> list[TranscriptMessage]:
    """Return one message, or none if it has no text."""
    turn = _turn(by or _SPEAKERS[role], list(content), at, session)
    return [TranscriptMessage(role, turn, offset)] if turn else []


def make_tool_message(
    call: tuple[str, Mapping[str, str]], output: str, at: object, session: str, offset: int, *, failed: bool
) -> list[TranscriptMessage]:
    """Return the answer to a call of a tool with these arguments; none if it succeeded silently and nothing is known of
    the call. Skip our own tools' answers, because they would be stored again and again; of a note that was stored or
    recalled, keep the arguments. A person's answer or refusal is attributed to the person if it asks that something not
    be kept."""
    tool, arguments = call
    if tool.endswith((APPEND, RECALL)) and not failed:
        output = WENT_WELL
    elif tool.endswith(_OURS):
        return []
    typed = _typed_in_answer(tool, output[:MOST_OUTPUT_CHARS], failed=failed)
    if off_record(typed):
        return make_message(Role.USER, content_parts(typed), at, session, offset)
    printed = output[:MOST_OUTPUT_CHARS] or ("failed" if failed else WENT_WELL if arguments else "")
    turn = _turn(tool or "tool", printed, at, session)
    return [TranscriptMessage(Role.TOOL, turn, offset, tool or "tool", failed, arguments)] if turn else []


def _typed_in_answer(tool: str, output: str, *, failed: bool) -> str:
    """Return the text that the person typed into a question of a tool, or as the reason for refusing a call."""
    if _ASKS_THE_PERSON.search(tool):
        answers = [words for match in _ANSWER.finditer(output) for words in match.groups() if words]
        return "\n".join(answers or _IN_JSON.findall(output) or [output])
    reason = _REASON.search(output) if failed else None
    return reason[1] if reason else ""


def strip_memory(text: str) -> str:
    """Remove notes of ours, so that memory doesn't store its own answers. Linear in the text."""
    ends: dict[str, list[int]] = {}
    for match in _MARK_END.finditer(text):
        ends.setdefault(match[1], []).append(match.start())
    kept: list[str] = []
    at = 0
    for match in _MARKED.finditer(text):
        after = ends.get(match[1], [])
        place = bisect_left(after, match.end())
        if match.start() >= at and place < len(after):
            kept.append(text[at : match.start()])
            at = after[place] + len(match[1]) + 3
    return "".join([*kept, text[at:]])


def _turn(speaker: str, content: object, at: object, session: str) -> Turn | None:
    """An invalid time is ignored."""
    message = {"speaker": speaker, "content": content}
    for when in (at, None):
        try:
            return next(iter(read_turns([{**message, "timestamp": when}], UTC, session or None)), None)
        except InvalidInput:
            continue
    return None
