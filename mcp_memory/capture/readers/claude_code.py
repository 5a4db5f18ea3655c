"""Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, and of each sub-agent
`<session>/subagents/agent-<id>.jsonl`; older versions wrote sub-agents' lines between the session's own.

A line of type `user` or `assistant` holds a message of the model's interface, one part of it a line. As seen with
version 2.1.329.
"""

from __future__ import annotations

import re

from mcp_memory.capture.readers.context import ReaderContext
from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.readers.spoken_text import (
    Table,
    given_back,
    message_from,
    parts,
    table,
    text,
    without,
    without_memory,
    words_of,
)

_NOT_A_PERSON = re.compile(
    r"\s*(?:<task-notification>|<local-command-|<bash-|\[Request interrupted|<user-memory-input>|"
    r"[A-Z][A-Za-z]{1,30} hook (?:feedback|success|additional context|blocking error)\b|"
    r"Implement the following plan:)"
)
"""The plan was the assistant's, and a hook's words are a program's."""
_BY_A_TOOL = ("sourceToolUseID", "planContent", "isVisibleInTranscriptOnly")
"""What a line bears that a tool or the program itself has put in, say a skill's text."""

_OTHER_TYPE = re.compile(rb'\{"type":"(?!(?:user|assistant)")[a-z-]{1,40}"')
"""How a line begins that holds no message: a request of the program, a state of files. Of those with a message the
type comes later."""

_COMMAND = re.compile(r"<command-name>([^<]{1,200})</command-name>")
_ARGUMENTS = re.compile(r"<command-args>([^<]{1,10000})</command-args>")


def is_silent(data: bytes) -> bool:
    """Whether the first bytes of a line say already that nothing is in it."""
    return _OTHER_TYPE.match(data) is not None


def read(line: Table, offset: int, context: ReaderContext) -> list[TranscriptMessage]:
    """The messages of one line."""
    kind = line.get("type")
    if kind not in ("user", "assistant"):
        return []
    context.session = context.session or text(line.get("sessionId"))
    context.folder = text(line.get("cwd")) or context.folder
    if line.get("isMeta") or line.get("isCompactSummary") or line.get("isApiErrorMessage"):
        return []
    if _is_by_a_program(line):
        return []
    aside = f"agent-{text(line.get('agentId')) or 'sidechain'}" if line.get("isSidechain") else ""
    session = f"{context.session}/{aside}" if aside else context.session
    found: list[TranscriptMessage] = []
    content, at = parts(table(line.get("message")).get("content")), line.get("timestamp")
    if kind == "user":
        for part in content:
            if part.get("type") == "tool_result":
                tool, failed = context.answered(part.get("tool_use_id")), part.get("is_error") is True
                found += given_back(tool, words_of(part.get("content")), at, session, offset, failed=failed)
        # In a sub-agent's or team mate's thread the task is another agent's; beside a tool's answer programs speak.
        told = aside or line.get("agentName") or (context.delegated and not _is_typed(line))
        role = Role.ASSISTANT if told or _is_answered(content) else Role.USER
        return found + message_from(role, [_spoken(part) for part in content], at, session, offset)
    for part in content:
        if part.get("type") == "tool_use":
            context.call(part.get("id"), part.get("name"))
    return message_from(Role.ASSISTANT, content, at, session, offset, by="Sub-agent" if aside else "")


def _is_by_a_program(line: Table) -> bool:
    origin = table(line.get("origin")).get("kind")
    return (
        origin not in (None, "human")
        or line.get("promptSource") == "system"
        or any(line.get(mark) for mark in _BY_A_TOOL)
    )


def _is_typed(line: Table) -> bool:
    """Whether a person sat before it. With `claude -p` nothing of the kind is said, whoever runs it."""
    return table(line.get("origin")).get("kind") == "human"


def _is_answered(content: list[Table]) -> bool:
    return any(part.get("type") == "tool_result" for part in content)


def _spoken(part: Table) -> Table:
    """Without what the program adds; of a command what was typed behind it. A document's text was not."""
    if part.get("type") != "text":
        return {}
    words = without_memory(without(text(part.get("text")), "system-reminder"))
    if words.lstrip().startswith("<command-"):
        name, arguments = _COMMAND.search(words), _ARGUMENTS.search(words)
        words = f"{name[1].strip()} {arguments[1].strip()}" if name and arguments and arguments[1].strip() else ""
    return {"type": "text", "text": "" if _NOT_A_PERSON.match(words) else words}
