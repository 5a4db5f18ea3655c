"""Reads Claude Code's `~/.claude/projects/<folder>/<session>.jsonl`, and `<session>/subagents/agent-<id>.jsonl` of each
sub-agent; older versions wrote sub-agents' lines among the session's own.

A line of type `user` or `assistant` has a part of a message of the model's API. As seen with version 2.1.329.
"""

import re

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
from mcp_memory.text.conversation.typed_words import typed_words
from mcp_memory.text.parsed_values import text_at, value_at

_BY_A_TOOL = ("sourceToolUseID", "planContent", "isVisibleInTranscriptOnly")
"""Keys of a line that a tool or the program itself inserted, such as a skill's text."""

SKIPPED_LINE = re.compile(rb'\{"type":"(?!(?:user|assistant)")[a-z-]{1,40}"')
"""Start of a line without a message, such as a request of the program or a state of files. In lines with a message the
type comes later."""

_COMMAND = re.compile(r"<command-name>([^<]{1,200})</command-name>")
_ARGUMENTS = re.compile(r"<command-args>([^<]{1,10000})</command-args>")


def parse_line(line: Table, offset: int, context: ReaderContext) -> list[TranscriptMessage]:
    """Return the messages of one line."""
    kind = line.get("type")
    if kind not in ("user", "assistant"):
        return []
    context.session = context.session or text_at(line, "sessionId")
    context.folder = text_at(line, "cwd") or context.folder
    if line.get("isMeta") or line.get("isCompactSummary") or line.get("isApiErrorMessage") or _is_by_a_program(line):
        return []
    aside = f"agent-{text_at(line, 'agentId') or 'sidechain'}" if line.get("isSidechain") else ""
    session = f"{context.session}/{aside}" if aside else context.session
    found: list[TranscriptMessage] = []
    content, at = content_parts(value_at(line, "message", "content")), line.get("timestamp")
    if kind == "user":
        for part in content:
            if part.get("type") == "tool_result":
                call, failed = pop_call(context, part.get("tool_use_id")), part.get("is_error") is True
                found += make_tool_message(call, join_text(part.get("content")), at, session, offset, failed=failed)
        # In a sub-agent's or teammate's thread another agent gives the task; text beside a tool result is a program's.
        # `claude -p` never marks a prompt as typed by a person.
        is_typed = value_at(line, "origin", "kind") == "human"
        is_delegated = aside or line.get("agentName") or (context.delegated and not is_typed)
        is_result = any(part.get("type") == "tool_result" for part in content)
        role = Role.ASSISTANT if is_delegated or is_result else Role.USER
        return found + make_message(role, [_spoken(part) for part in content], at, session, offset)
    for part in content:
        if part.get("type") == "tool_use":
            remember_call(context, part.get("id"), part.get("name"), part.get("input"))
    return make_message(Role.ASSISTANT, content, at, session, offset, by="Sub-agent" if aside else "")


def _is_by_a_program(line: Table) -> bool:
    is_foreign = value_at(line, "origin", "kind") not in (None, "human") or line.get("promptSource") == "system"
    return is_foreign or any(line.get(mark) for mark in _BY_A_TOOL)


def _spoken(part: Table) -> Table:
    """Remove documents and the text that the program adds; keep a command with its typed arguments."""
    if part.get("type") != "text":
        return {}
    words = typed_words(strip_memory(text_at(part, "text")))
    if words.lstrip().startswith("<command-"):
        name, arguments = _COMMAND.search(words), _ARGUMENTS.search(words)
        words = f"{name[1].strip()} {arguments[1].strip()}" if name and arguments and arguments[1].strip() else ""
    return {"type": "text", "text": words}
