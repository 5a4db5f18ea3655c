"""Answers the hooks of sub-agents: the standing orders at their start, and the notes about their task.

Seen with Claude Code 2.1.329 and Codex 0.169.0: both name the sub-agent and its type at its start, and add the hook's
text to its context. Neither passes the sub-agent's task. Codex sends the task as the sub-agent's own prompt. Claude
Code shows the task only to the hook before the tool that starts the sub-agent. Sub-agents that start at once come in
any order, so the notes about a task are added to the task's text."""

import re
from collections.abc import Mapping
from typing import Any

from mcp_memory.hooks.hook_call import HookCall, context, specific_output

STARTING = frozenset({"Agent", "Task"})
"""The tool by which Claude Code starts a sub-agent, and its older name."""

_NEEDS_NOTHING = re.compile(
    r"(?:.*[\W_])?(?:explorer?|search(?:er)?|finder|locator)|statusline-setup|claude-code-guide", re.I
)
"""Types of sub-agents that only search files or text, or that know the client itself."""


async def answer_subagent(call: HookCall) -> bytes:
    return context("SubagentStart", await _told(call, call.given.agent_type))


async def answer_subagent_prompt(call: HookCall) -> bytes:
    task = {"prompt": call.given.prompt, **call.transcript(), "session": call.session}
    return context("UserPromptSubmit", await _told(call, call.given.agent_type, task))


async def answer_before_subagent(call: HookCall) -> bytes:
    given = call.given.tool_input
    if not isinstance(task := given.get("prompt"), str) or call.given.is_shortened:
        return b""
    # The sub-agent's session has no name yet, and sees this text once.
    wanted = {"prompt": task, "session": f"{call.session}/subagent", "lasting": False}
    text = await _told(call, str(given.get("subagent_type")), wanted)
    return specific_output("PreToolUse", {"updatedInput": {**given, "prompt": f"{task}\n\n{text}"}}) if text else b""


async def _told(call: HookCall, kind: str, wanted: Mapping[str, Any] | None = None) -> str:
    """Return the text for a sub-agent. `wanted` has its task, if that is known."""
    is_empty = wanted and not wanted["prompt"].strip()
    if "subagents" in call.config.off or _NEEDS_NOTHING.fullmatch(kind) or is_empty:
        return ""
    shared = {"session": call.session, "project": await call.project(), "within_ms": call.within_ms, "subagent": True}
    return call.told([await call.perform("brief", {**shared, **(wanted or {})})])
