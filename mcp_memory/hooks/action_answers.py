"""Answers the hooks around a tool call: what memory holds about it, before; the fix for its error, after.

Seen with Claude Code 2.1.329 and Codex 0.169.0: both show the model what a hook adds before a call only beside the
call's result. So what an order forbids is refused, once. Claude Code says which calls failed; Codex does not, and sends
no exit status.
"""

from typing import Any

from mcp_memory.hooks.hook_call import HookCall, context, specific_output

ACTING = frozenset({"Bash", "Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch"})
"""The tools of both that change files or run commands."""


async def answer_before_action(call: HookCall) -> bytes:
    if not call.config.before_action:
        return b""
    advice = await _advice(call, {"arguments": call.given.tool_input, "stop": call.config.stop_action})
    if advice["stops"]:
        reason = {"permissionDecision": "deny", "permissionDecisionReason": advice["text"]}
        return specific_output("PreToolUse", reason)
    return context("PreToolUse", advice["text"])


async def answer_after_tool(call: HookCall) -> bytes:
    given = call.given
    if not call.config.after_failure or not given.tool_output.strip():
        return b""
    wanted: dict[str, Any] = {"output": given.tool_output}
    wanted |= {} if given.has_failed else {"arguments": given.tool_input}
    text = (await _advice(call, wanted))["text"]
    return context("PostToolUseFailure" if given.has_failed else "PostToolUse", text)


async def _advice(call: HookCall, wanted: dict[str, Any]) -> dict[str, Any]:
    shared = {"session": call.session, "project": await call.project(), "folder": call.given.cwd}
    advice = await call.perform("advise", {**shared, "within_ms": call.within_ms, **wanted})
    call.told([{**advice, "degraded": None}])
    return advice
