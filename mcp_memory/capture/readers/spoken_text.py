"""Extracts what was said from the forms in which clients write it, without text their programs insert. Pure."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, cast

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.errors import InvalidInput
from mcp_memory.text.conversation.messages import Turn, read_turns
from mcp_memory.text.conversation.off_record import off_record
from mcp_memory.text.parsed_values import text_at
from mcp_memory.tool_names import APPEND, TOOLS

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
"""The output of a tool call that succeeded silently. In captures it replaces the output of every call, unless tool
output is kept."""

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
    the call. Skip our own tools' answers, because they would be stored again and again; of a note that was stored, keep
    the arguments. A person's answer or refusal is attributed to the person if it asks that something not be kept."""
    tool, arguments = call
    if tool.endswith(APPEND) and not failed:
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


def strip_tag(text: str, tag: str) -> str:
    """Remove the text between `<tag>` and `</tag>`, or the end of the text."""
    kept: list[str] = []
    opened, closed = f"<{tag}>", f"</{tag}>"
    at = 0
    while (found := text.find(opened, at)) >= 0:
        kept.append(text[at:found])
        end = text.find(closed, found)
        if end < 0:
            return "".join(kept)
        at = end + len(closed)
    return "".join([*kept, text[at:]])


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
