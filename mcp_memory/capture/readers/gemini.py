"""Reads Gemini CLI's `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`, and `chats/<session>/<id>.jsonl` of
each sub-agent.

A message is written again under its id when its tools have answered; lines that begin with `$set` change what earlier
lines state about the session. As seen with version 0.61.0.
"""

import re

from mcp_memory.capture.readers.message import (
    ReaderContext,
    Role,
    Table,
    TranscriptMessage,
    content_parts,
    make_message,
    make_tool_message,
    remember_call,
    strip_memory,
    text_arguments,
)
from mcp_memory.text.conversation.typed_words import typed_words
from mcp_memory.text.parsed_values import list_at, table_at, text_at, value_at

_FOLDER = re.compile(r"\*\*Workspace Directories:\*\*\n\s*- ([^\n]{1,4000})")
"""A mark in the context with which the program begins each session."""
_OURS = re.compile(r"<hook_context>.*?(?:</hook_context>|\Z)", re.DOTALL)
"""Matches the text that hooks added to an output."""
_EXIT_CODE = re.compile(r"^Exit Code: (-?[0-9]{1,10})\s*$", re.MULTILINE)


def parse_line(line: Table, offset: int, context: ReaderContext) -> list[TranscriptMessage]:
    """Return the messages of one line."""
    if "projectHash" in line:
        context.session = context.session or text_at(line, "sessionId")
        context.delegated = context.delegated or line.get("kind") == "subagent"
    for first in list_at(line, "$set", "messages")[:1]:
        for part in content_parts(value_at(first, "content")):
            named = _FOLDER.search(text_at(part, "text"))
            context.folder = named[1] if named else context.folder
    content, at = content_parts(line.get("content")), line.get("timestamp")
    if line.get("type") == "user":
        # without the text that the program and our hooks put in front of it
        typed = (typed_words(strip_memory(text_at(part, "text"))).strip() for part in content)
        spoken = [{"type": "text", "text": text} for text in typed]
        return make_message(Role.ASSISTANT if context.delegated else Role.USER, spoken, at, context.session, offset)
    if line.get("type") != "gemini":
        return []
    found: list[TranscriptMessage] = []
    if _is_new(f"said {line.get('id')}", context, wanted=any(text_at(part, "text").strip() for part in content)):
        by = "Sub-agent" if context.delegated else ""
        found += make_message(Role.ASSISTANT, content, at, context.session, offset, by=by)
    for call in map(table_at, list_at(line, "toolCalls")):
        if _is_new(f"called {call.get('id')}", context, wanted=bool(list_at(call, "result"))):
            found += _answer(call, context.session, offset)
    return found


def _is_new(name: str, context: ReaderContext, *, wanted: bool) -> bool:
    """Return whether an item is `wanted` and wasn't read in an earlier line, and remember that it is read now."""
    is_new = wanted and name not in context.calls
    if is_new:
        remember_call(context, name, "", None)
    return is_new


def _answer(call: Table, session: str, offset: int) -> list[TranscriptMessage]:
    results = [text_at(table_at(part, "functionResponse", "response"), "output") for part in list_at(call, "result")]
    output, shown = "\n".join(results), text_at(call, "resultDisplay")
    code = _EXIT_CODE.search(output[:20_000])
    failed = call.get("status") == "error" or (code is not None and int(code[1]) != 0)
    tool = text_at(call, "name"), text_arguments(call.get("args"))
    printed = shown or _OURS.sub("", output)
    return make_tool_message(tool, printed, call.get("timestamp"), session, offset, failed=failed)
