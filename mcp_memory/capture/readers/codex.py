"""Reads Codex's `~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`.

A line of type `response_item` has an item of the model's API; other lines repeat it or describe the session. As seen
with version 0.169.0.
"""

import json
import re
from contextlib import suppress
from typing import cast

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
from mcp_memory.text.parsed_values import list_at, table_at, text_at, value_at

SKIPPED_LINE = re.compile(
    rb'\{"timestamp":"[^"\\]{1,40}",(?:"ordinal":[0-9]{1,20},)?"type":"'
    rb'(?:(?!(?:session_meta|turn_context|response_item)")[a-z_]{1,40}"|response_item","payload":\{"type":"reasoning")'
)
"""The start of a line that repeats another line, or has the program's state or the model's reasoning."""

_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?[0-9]{1,10})\s*$", re.MULTILINE)
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}


def parse_line(line: Table, offset: int, context: ReaderContext) -> list[TranscriptMessage]:
    """Return the messages of one line."""
    kind, item = line.get("type"), table_at(line, "payload")
    if kind == "session_meta" and not context.session:  # a fork repeats its origin's
        context.session = text_at(item, "id") or text_at(item, "session_id")
        context.folder = text_at(item, "cwd")
        source, thread = item.get("source"), item.get("thread_source")
        is_sub_agent = source == "subagent" or value_at(source, "subagent") is not None or thread not in (None, "user")
        context.delegated = context.delegated or is_sub_agent
    elif kind == "turn_context":
        context.folder = text_at(item, "cwd") or context.folder
    elif kind == "response_item":
        return _item(item, line.get("timestamp"), offset, context)
    return []


def _item(item: Table, at: object, offset: int, context: ReaderContext) -> list[TranscriptMessage]:
    kind = text_at(item, "type")
    if kind == "message":
        role = _ROLES.get(text_at(item, "role"))
        if role is None:  # from a program to the model
            return []
        by = ""
        if context.delegated:
            role, by = Role.ASSISTANT, "Sub-agent" if role is Role.ASSISTANT else ""
        return make_message(role, _spoken(item), at, context.session, offset, by=by)
    if kind.endswith("_call_output"):
        call, (output, failed) = pop_call(context, item.get("call_id")), _output(item.get("output"))
        return make_tool_message(call, output, at, context.session, offset, failed=failed)
    if kind.endswith("_call"):
        given = item.get("arguments") or item.get("input") or item.get("action")
        remember_call(context, item.get("call_id"), item.get("name") or kind.removesuffix("_call"), given)
    return []


def _spoken(item: Table) -> list[Table]:
    """Return the parts that were spoken; newer versions state the origin of each."""
    content = content_parts(item.get("content"))
    if item.get("role") == "assistant":
        return content
    kinds = list_at(item, "internal_chat_message_metadata_passthrough", "content_item_kinds")
    if len(kinds) == len(content):
        content = [part for part, kind in zip(content, kinds, strict=True) if str(kind).startswith("user.")]
    return [
        {**part, "text": typed_words(strip_memory(text_at(part, "text")))} if "text" in part else part
        for part in content
    ]


def _output(output: object) -> tuple[str, bool]:
    """Return a tool's output and whether it failed. Older versions wrote both as JSON in a string."""
    if isinstance(output, str) and output.startswith("{"):
        with suppress(ValueError, RecursionError):
            output = cast("object", json.loads(output))
    if table := table_at(output):
        code = value_at(table, "metadata", "exit_code")
        printed = text_at(table, "output") or join_text(value_at(table, "content")) or text_at(table, "body")
        return printed, value_at(table, "success") is False or code not in (None, 0)
    printed = join_text(output)
    found = _EXIT_CODE.search(printed[:2000])
    _, has_head, shown = printed.partition("\nOutput:\n")
    return shown if found and has_head else printed, found is not None and int(found[1]) != 0
