"""Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`.

Of a line, `response_item` holds an item of the model's interface; all else repeats it or describes the session. As
seen with version 0.169.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from mcp_memory.capture.readers.context import ReaderContext
from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.readers.spoken_text import (
    Table,
    given_back,
    message_from,
    parts,
    table,
    text,
    without_memory,
    words_of,
)

_NOT_A_PERSON = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<skill>",
    "<user_shell_command>", "<subagent_notification>", "<hook_prompt", "<user_action>",
    "Another language model started to solve this problem and produced a summary",
    "Warning: The maximum number of unified exec processes", "Warning: apply_patch was requested via",
)  # fmt: skip
_OTHER_TYPE = re.compile(
    rb'\{"timestamp":"[^"\\]{1,40}",(?:"ordinal":[0-9]{1,20},)?"type":"'
    rb'(?:(?!(?:session_meta|turn_context|response_item)")[a-z_]{1,40}"|response_item","payload":\{"type":"reasoning")'
)
"""How a line begins that repeats what another says, tells the program's state, or what the model thought."""

_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?[0-9]{1,10})\s*$", re.MULTILINE)
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}


def is_silent(data: bytes) -> bool:
    """Whether the first bytes of a line say already that nothing is in it."""
    return _OTHER_TYPE.match(data) is not None


def read(line: Table, offset: int, context: ReaderContext) -> list[TranscriptMessage]:
    """The messages of one line."""
    kind, item = line.get("type"), table(line.get("payload"))
    if kind == "session_meta" and not context.session:  # a fork repeats its origin's
        context.session = text(item.get("id")) or text(item.get("session_id"))
        context.folder = text(item.get("cwd"))
        source, thread = item.get("source"), item.get("thread_source")
        is_sub_agent = source == "subagent" or "subagent" in table(source) or thread not in (None, "user")
        context.delegated = context.delegated or is_sub_agent
    elif kind == "turn_context":
        context.folder = text(item.get("cwd")) or context.folder
    elif kind == "response_item":
        return _item(item, line.get("timestamp"), offset, context)
    return []


def _item(item: Table, at: object, offset: int, context: ReaderContext) -> list[TranscriptMessage]:
    kind = text(item.get("type"))
    if kind == "message":
        role = _ROLES.get(text(item.get("role")))
        if role is None:  # what a program tells the model
            return []
        by = ""
        if context.delegated:
            role, by = Role.ASSISTANT, "Sub-agent" if role is Role.ASSISTANT else ""
        return message_from(role, _spoken(item), at, context.session, offset, by=by)
    if kind.endswith("_call_output"):
        tool, (output, failed) = context.answered(item.get("call_id")), _output(item.get("output"))
        return given_back(tool, output, at, context.session, offset, failed=failed)
    if kind.endswith("_call"):
        context.call(item.get("call_id"), item.get("name") or kind.removesuffix("_call"))
    return []


def _spoken(item: Table) -> list[Table]:
    """The parts that somebody said; newer versions tell who put in each."""
    content = parts(item.get("content"))
    if item.get("role") == "assistant":
        return content
    kinds = table(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
    known = [text(kind) for kind in cast("list[object]", kinds)] if isinstance(kinds, list) else []
    if len(known) == len(content):
        content = [part for part, kind in zip(content, known, strict=True) if kind.startswith("user.")]
    return [
        {**part, "text": without_memory(text(part.get("text")))} if "text" in part else part
        for part in content
        if not text(part.get("text")).lstrip().startswith(_NOT_A_PERSON)
    ]


def _output(output: object) -> tuple[str, bool]:
    """What a tool printed, and whether it failed. Older versions put that into a text of JSON."""
    if isinstance(output, str) and output.startswith("{"):
        with suppress(ValueError, RecursionError):
            output = cast("object", json.loads(output))
    if isinstance(output, Mapping):
        given = cast("Mapping[str, Any]", output)
        code = table(given.get("metadata")).get("exit_code")
        printed = text(given.get("output")) or words_of(given.get("content")) or text(given.get("body"))
        return printed, given.get("success") is False or code not in (None, 0)
    printed = words_of(output)
    found = _EXIT_CODE.search(printed[:2000])
    _, has_head, shown = printed.partition("\nOutput:\n")
    return shown if found and has_head else printed, found is not None and int(found[1]) != 0
