"""The plain form: a transcript of a message a line, as JSON, for programs that write one of their own.

A line is an object: `role` is `user`, `assistant` or `tool`; `text` is what was said, or what the tool gave back; `at`
(ISO 8601), `speaker`, `session`, and of a tool `tool` (its name) and `failed` may be there, and `offset` where the line
was taken from another file; other keys are left alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, cast

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.errors import InvalidInput
from mcp_memory.text.conversation.messages import Turn
from mcp_memory.text.dates import parse_when


def read_plain(data: bytes, zone: tzinfo) -> list[TranscriptMessage]:
    """The messages that have words. A time without an offset is in `zone`. Raises InvalidInput that names the line."""
    messages: list[TranscriptMessage] = []
    offset = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                message = _read(json.loads(line), offset, zone)
            except (ValueError, RecursionError, InvalidInput) as error:
                why = error.message if isinstance(error, InvalidInput) else "it is no JSON"
                hint = 'a message a line: {"role": "user", "text": "We use uv.", "at": "2026-11-21T09:30:00Z"}'
                raise InvalidInput(f"line {number} is no message: {why}", hint=hint) from error
            if message.turn.text:
                messages.append(message)
        offset += len(line) + 1
    return messages


def written_plain(messages: Sequence[TranscriptMessage]) -> str:
    """The same, the other way round: `read_plain` gives these messages again."""
    return "\n".join(json.dumps(_said(message), ensure_ascii=False) for message in messages)


def _said(message: TranscriptMessage) -> dict[str, Any]:
    turn = message.turn
    said = {
        "role": message.role.value,
        "text": turn.text,
        "speaker": turn.speaker,
        "at": turn.at.isoformat() if turn.at else None,
        "session": turn.session,
        "offset": message.offset,
        "tool": message.tool or None,
        "failed": message.failed or None,
    }
    return {key: value for key, value in said.items() if value is not None}


def _read(said: object, offset: int, zone: tzinfo) -> TranscriptMessage:
    if not isinstance(said, dict):
        raise InvalidInput("no object")
    given = cast("dict[str, Any]", said)
    role, text = given.get("role"), given.get("text")
    if role not in tuple(Role):
        raise InvalidInput(f"its role is none of {', '.join(Role)}")
    if not isinstance(text, str):
        raise InvalidInput("its text is no string")
    at = given.get("at")
    if at is not None and not isinstance(at, str):
        raise InvalidInput("its time is no string")
    session = given.get("session")
    place = given.get("offset", offset)
    if not isinstance(place, int) or isinstance(place, bool) or place < 0:
        raise InvalidInput("its offset is no whole number")
    turn = Turn(
        str(given.get("speaker") or str(role).capitalize()),
        text.strip("\n").replace("\r\n", "\n"),
        parse_when(at, zone) if at else None,
        str(session) if session else None,
    )
    return TranscriptMessage(Role(str(role)), turn, place, str(given.get("tool") or ""), given.get("failed") is True)
