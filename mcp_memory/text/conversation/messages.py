"""Parses chat messages of programs and exports as turns, each with speaker, words and time.

A message is a mapping. Its speaker is `speaker`, else `name`, else `role`. Its words are `content`, else `text`, as a
string or as the list of parts that Anthropic's and OpenAI's APIs use. `timestamp` or `created_at` is a datetime, an ISO
8601 string or seconds since 1970. `session` names its conversation. Other keys are ignored.

An image, a recording or a file becomes its type, `[image]`. Thinking, tool calls and tool results are skipped.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, cast

from mcp_memory.errors import InvalidInput
from mcp_memory.text.dates import as_datetime, parse_when

Message = Mapping[str, Any]

MAX_SPEAKER_CHARS = 40
"""The longest name recognized as a speaker prefix."""

_TOOLS = frozenset({"tool", "function"})
_UNSPOKEN = re.compile(r"tool|function_call|computer_call|thinking|reasoning")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_MILLISECONDS_FROM = 1e11
"""The year 5138 in seconds, so larger numbers are milliseconds."""


@dataclass(frozen=True)
class Turn:
    """A turn. `text` has LF line ends, no control characters and no blank lines around it; it is never empty."""

    speaker: str
    text: str
    at: datetime | None = None
    """The time with the message's own offset."""
    session: str | None = None


def read_turns(messages: Iterable[Message], zone: tzinfo, session: str | None = None) -> list[Turn]:
    """Return the turns of a conversation in order, without messages that have no words.

    A time without an offset is in `zone`. `session` is the default for messages without a session. Raises InvalidInput
    for the first invalid message."""
    turns: list[Turn] = []
    for number, message in enumerate(messages, 1):
        try:
            if turn := _read(message, zone, session):
                turns.append(turn)
        except InvalidInput as error:
            raise InvalidInput(f"message {number}: {error.message}", hint=error.hint) from error
    return turns


def _read(message: object, zone: tzinfo, session: str | None) -> Turn | None:
    if not isinstance(message, Mapping):
        raise InvalidInput("no mapping", hint="pass for example {'role': 'user', 'content': 'Hello'}")
    fields = cast("Message", message)
    text = "" if fields.get("role") in _TOOLS else _plain(_words(_first(fields, "content", "text")))
    if not text:
        return None
    at = _when(_first(fields, "timestamp", "created_at"), zone)
    return Turn(_speaker(fields), text, at, _named(fields.get("session")) or session)


def _first(message: Message, *names: str) -> Any:
    return next((message[name] for name in names if message.get(name) is not None), None)


def _speaker(message: Message) -> str:
    """Return the speaker on one line, without marks that end a name or mean emphasis. A role is capitalized."""
    for value in (message.get("speaker"), message.get("name"), (_named(message.get("role")) or "").capitalize()):
        name = " ".join(re.sub(r"[:*`()\[\]]", " ", _named(value) or "").split()).strip("_ ")
        if short := name[:MAX_SPEAKER_CHARS].strip("_ "):
            return short
    raise InvalidInput("nobody says it", hint="pass who speaks as 'role', 'name' or 'speaker'")


def _named(value: object) -> str | None:
    if value is None or isinstance(value, (Mapping, list, tuple)):
        return None
    return _plain(" ".join(str(value).split())) or None


def _words(content: object) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Sequence):
        return "\n\n".join(words for part in cast("Sequence[object]", content) if (words := _part(part)))
    raise InvalidInput("its content is neither text nor a list of parts", hint="pass a string")


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise InvalidInput("a part of its content is neither text nor a mapping", hint="pass a string")
    fields = cast("Message", part)
    kind = str(fields.get("type") or "text")
    if _UNSPOKEN.search(kind):
        return ""
    words = _first(fields, "text", "refusal")
    if isinstance(words, str):
        return words
    return "" if kind == "text" else f"[{_named(kind.removeprefix('input_').removesuffix('_url'))}]"


def _plain(text: str) -> str:
    """Replace control characters with spaces, so that no two words join."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    shown = _HALF_PAIR.sub("\ufffd", _CONTROL.sub(" ", lines))
    return re.sub(r"\A(?:[^\S\n]*\n)+", "", shown).rstrip() if shown.strip() else ""


def _when(value: object, zone: tzinfo) -> datetime | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return parse_when(value, zone)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = value / 1000 if abs(value) >= _MILLISECONDS_FROM else value
        try:
            return datetime.fromtimestamp(seconds, UTC).astimezone(zone)
        except (OverflowError, ValueError, OSError):
            pass
    elif moment := as_datetime(value, zone):
        return moment
    raise InvalidInput("its time is none", hint="pass a datetime, an ISO 8601 string or seconds since 1970")
