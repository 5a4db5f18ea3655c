"""Read and write plain transcripts: one message per line as JSON, for programs that write their own.

A line is an object: `role` is `user`, `assistant` or `tool`; `text` is the person's or agent's words, or the tool's
output. Optional keys are `at` (ISO 8601), `speaker`, `session`, and `offset` if the line comes from another file. For a
tool there are also `tool` (its name), `failed` and `arguments` (such as `{"command": "make"}`). Other keys are ignored.
"""

import json
from datetime import UTC, tzinfo
from typing import Any, cast

from mcp_memory.capture.readers.message import ReaderContext, Role, Table, Transcript, TranscriptMessage, text_arguments
from mcp_memory.errors import InvalidInput
from mcp_memory.text.conversation.messages import Turn
from mcp_memory.text.conversation.typed_words import typed_words
from mcp_memory.text.dates import parse_when
from mcp_memory.text.parsed_values import text_at


def read_plain(data: bytes, zone: tzinfo) -> list[TranscriptMessage]:
    """Return the messages with text. A time without an offset is in `zone`. Raises InvalidInput naming the line."""
    messages: list[TranscriptMessage] = []
    offset = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                message = _read(json.loads(line), offset, zone)
            except (ValueError, RecursionError, InvalidInput) as error:
                why = error.message if isinstance(error, InvalidInput) else "it is not JSON"
                hint = 'one message per line: {"role": "user", "text": "We use uv.", "at": "2026-11-21T09:30:00Z"}'
                raise InvalidInput(f"line {number} is not a message: {why}", hint=hint) from error
            if message.text:
                messages.append(message)
        offset += len(line) + 1
    return messages


def parse_line(line: Table, offset: int, context: ReaderContext) -> list[TranscriptMessage]:
    """Parse the message of one line of a file that grows; `cwd` is its working folder."""
    context.session = text_at(line, "session") or context.session
    context.folder = text_at(line, "cwd") or context.folder
    try:
        spoken = {"text": typed_words(text_at(line, "text"))} if text_at(line, "role") == Role.USER else {}
        message = _read({**line, **spoken, "offset": offset}, offset, UTC)
    except InvalidInput:
        return []
    return [message] if message.text else []


def write_plain(messages: Transcript) -> str:
    """Write messages so that `read_plain` returns them again."""
    return "\n".join(json.dumps(_as_table(message), ensure_ascii=False) for message in messages)


def _as_table(message: TranscriptMessage) -> dict[str, Any]:
    turn = message.turn
    table = {
        "role": message.role.value,
        "text": turn.text,
        "speaker": turn.speaker,
        "at": turn.at.isoformat() if turn.at else None,
        "session": turn.session,
        "offset": message.offset,
        "tool": message.tool or None,
        "failed": message.failed or None,
        "arguments": message.arguments or None,
    }
    return {key: value for key, value in table.items() if value is not None}


def _read(line: object, offset: int, zone: tzinfo) -> TranscriptMessage:
    if not isinstance(line, dict):
        raise InvalidInput("it is not an object")
    message = cast("dict[str, Any]", line)
    role, text = message.get("role"), message.get("text")
    if role not in tuple(Role):
        raise InvalidInput(f"its role is not one of {', '.join(Role)}")
    if not isinstance(text, str):
        raise InvalidInput("its text is not a string")
    at = message.get("at")
    if at is not None and not isinstance(at, str):
        raise InvalidInput("its time is not a string")
    session = message.get("session")
    place = message.get("offset", offset)
    if not isinstance(place, int) or isinstance(place, bool) or place < 0:
        raise InvalidInput("its offset is not a whole number")
    turn = Turn(
        str(message.get("speaker") or str(role).capitalize()),
        text.strip("\n").replace("\r\n", "\n"),
        parse_when(at, zone) if at else None,
        str(session) if session else None,
    )
    tool, failed = str(message.get("tool") or ""), message.get("failed") is True
    return TranscriptMessage(Role(str(role)), turn, place, tool, failed, text_arguments(message.get("arguments")))
