"""Answers the hooks around a tool call: notes about the action before it, and the fix for its error after it.

Seen with Claude Code 2.1.329 and Codex 0.169.0: both show the model a hook's text from before a call only beside the
call's result. So a forbidden action is refused, once. Claude Code marks calls that failed; Codex does not, and sends no
exit status. Before a call, Gemini CLI 0.61.0 shows only the reason of a refusal.
"""

import json
from typing import Any

from mcp_memory.hooks.hook_call import HookCall, context, specific_output

OF_GEMINI = frozenset({"run_shell_command", "replace", "write_file"})
ACTING = frozenset({"Bash", "Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch"}) | OF_GEMINI
"""The tools that change files or run commands."""


async def answer_before_action(call: HookCall) -> bytes:
    if "actions" in call.config.off:
        return b""
    refuses_only = call.given.tool in OF_GEMINI
    wanted = {"arguments": call.given.tool_input, "stop": "stops" not in call.config.off, "orders": refuses_only}
    advice = await _advice(call, wanted)
    if refuses_only:
        return json.dumps({"decision": "deny", "reason": advice["text"]}).encode("ascii") if advice["stops"] else b""
    if advice["stops"]:
        reason = {"permissionDecision": "deny", "permissionDecisionReason": advice["text"]}
        return specific_output("PreToolUse", reason)
    return context("PreToolUse", advice["text"])


async def answer_after_tool(call: HookCall) -> bytes:
    given = call.given
    if "errors" in call.config.off or not given.tool_output.strip():
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
