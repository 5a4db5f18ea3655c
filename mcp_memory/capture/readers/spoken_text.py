"""What was said, out of the ways in which clients write it down: turns without what their programs put in. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, cast

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.errors import InvalidInput
from mcp_memory.text.conversation.messages import Turn, read_turns

Table = Mapping[str, Any]

_MARKED = re.compile(r"<<<([0-9a-f]{8,64})\n")
"""Where notes of ours begin that a hook or plugin put in front of a prompt …"""
_MARK_END = re.compile(r"(?<![0-9a-f])([0-9a-f]{8,64})>>>")
"""… and where they end."""

MOST_OUTPUT_CHARS = 24_000
"""Of what a tool gave back, looked at: six times what is kept of it, with room for a secret on the cut."""

SPEAKERS = {Role.USER: "User", Role.ASSISTANT: "Assistant"}


def table(value: object) -> Table:
    """The value where it is a table, else an empty one."""
    return cast("Table", value) if isinstance(value, Mapping) else {}


def text(value: object) -> str:
    """The value where it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def parts(content: object) -> list[Table]:
    """The parts of a message's content, a text being one part."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, Sequence):
        return []
    return [cast("Table", part) for part in cast("Sequence[object]", content) if isinstance(part, Mapping)]


def words_of(content: object) -> str:
    """All text in it, as of a tool's output."""
    return "\n".join(said for part in parts(content) if (said := text(part.get("text"))))


def message_from(
    role: Role, content: Sequence[Table], at: object, session: str, offset: int, *, by: str = ""
) -> list[TranscriptMessage]:
    """One message, or none where nothing was said."""
    turn = _turn(by or SPEAKERS[role], list(content), at, session)
    return [TranscriptMessage(role, turn, offset)] if turn else []


def given_back(
    tool: str, output: str, at: object, session: str, offset: int, *, failed: bool
) -> list[TranscriptMessage]:
    """What a tool answered; none where it said nothing and all went well. Our own tools' answers are none: they would
    be remembered again and again."""
    if is_ours(tool):
        return []
    turn = _turn(tool or "tool", output[:MOST_OUTPUT_CHARS] or ("failed" if failed else ""), at, session)
    return [TranscriptMessage(Role.TOOL, turn, offset, tool or "tool", failed)] if turn else []


def is_ours(tool: str) -> bool:
    return tool.rpartition("__")[2] in {"memory_search", "memory_recall", "memory_append", "memory_forget"}


def without(said: str, tag: str) -> str:
    """Without what stands between `<tag>` and `</tag>`; an end that is missing is the text's."""
    kept: list[str] = []
    opened, closed = f"<{tag}>", f"</{tag}>"
    at = 0
    while (found := said.find(opened, at)) >= 0:
        kept.append(said[at:found])
        end = said.find(closed, found)
        if end < 0:
            return "".join(kept)
        at = end + len(closed)
    return "".join([*kept, said[at:]])


def without_memory(said: str) -> str:
    """Without notes of ours: what memory has told is not told to it again. In time that grows with the text alone."""
    ends: dict[str, list[int]] = {}
    for match in _MARK_END.finditer(said):
        ends.setdefault(match[1], []).append(match.start())
    kept: list[str] = []
    at = 0
    for match in _MARKED.finditer(said):
        after = ends.get(match[1], [])
        place = bisect_left(after, match.end())
        if match.start() >= at and place < len(after):
            kept.append(said[at : match.start()])
            at = after[place] + len(match[1]) + 3
    return "".join([*kept, said[at:]])


def _turn(speaker: str, content: object, at: object, session: str) -> Turn | None:
    """A time that is none does not count."""
    message = {"speaker": speaker, "content": content}
    for when in (at, None):
        try:
            return next(iter(read_turns([{**message, "timestamp": when}], UTC, session or None)), None)
        except InvalidInput:
            continue
    return None
