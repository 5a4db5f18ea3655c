"""The messages that readers produce from a transcript, and the context that they keep from line to line."""

import json
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import cast

from mcp_memory.text.conversation.messages import Turn
from mcp_memory.text.parsed_values import list_at, table_at, text_at


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
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


@dataclass(slots=True)
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
