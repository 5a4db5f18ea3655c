"""Answers the hooks around a tool call: allows our own tools and fills in the project and session of a call. An
agent gets the notes about its action before it, and the fix for its error after it. A sub-agent gets the standing
orders at its start, and the notes about its task.

Seen with Claude Code 2.1.329 and Codex 0.169.0: both show the model a hook's text from before a call only beside the
call's result. So a forbidden action is refused, once. Claude Code marks calls that failed; Codex does not, and sends
no exit status. Before a call, Gemini CLI 0.61.0 shows only the reason of a refusal.

Both name a sub-agent and its type at its start, and add the hook's text to its context. Neither passes the sub-agent's
task. Codex sends the task as the sub-agent's own prompt. Claude Code shows the task only to the hook before the tool
that starts the sub-agent. Sub-agents that start at once come in any order, so the notes about a task are added to the
task's text.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from mcp_memory.core.arguments import is_session
from mcp_memory.core.project_finder import holds_everywhere, own_project, takes_project
from mcp_memory.core.serializers import Payload
from mcp_memory.hooks.hook_call import HookCall, context, specific_output
from mcp_memory.tool_names import FORGET, TOOLS

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


OF_GEMINI = frozenset({"run_shell_command", "replace", "write_file"})
ACTING = frozenset({"Bash", "Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch"}) | OF_GEMINI
"""The tools that change files or run commands."""

_OWN = re.compile(f"mcp__.+__({'|'.join(TOOLS)})")
"""The names that Claude Code and Codex give our tools. The matcher of `install` contains our server's name too, so
another server's tool of that name doesn't come here."""


async def answer_before_tool(call: HookCall) -> bytes:
    if own := _OWN.fullmatch(call.given.tool):
        return b"" if "own-tools" in call.config.off else await _allow(call, own[1])
    if call.given.tool in ACTING:
        return await _before_action(call)
    return await answer_before_subagent(call) if call.given.tool in STARTING else b""


async def _before_action(call: HookCall) -> bytes:
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
    wanted: Payload = {"output": given.tool_output}
    wanted |= {} if given.has_failed else {"arguments": given.tool_input}
    text = (await _advice(call, wanted))["text"]
    return context("PostToolUseFailure" if given.has_failed else "PostToolUse", text)


async def _advice(call: HookCall, wanted: Payload) -> Payload:
    shared = {"session": call.session, "project": await call.project(), "folder": call.given.cwd}
    advice = await call.perform("advise", {**shared, "within_ms": call.within_ms, **wanted})
    call.told([{**advice, "degraded": None}])
    return advice


async def _allow(call: HookCall, tool: str) -> bytes:
    """Allow our own tool. Your own rule that denies the tool, or asks you, takes precedence."""
    given, fields = call.given, Payload(permissionDecision="allow")
    if not given.is_shortened:  # otherwise a cut text would be stored
        added: Payload = {}
        named = given.tool_input.get("project")
        project = await call.project() if tool != FORGET and (named or takes_project(given.tool_input)) else None
        if (named and own_project(named, project) != named) or (
            project and not named and not holds_everywhere(given.tool_input, project)
        ):
            added["project"] = project
        if is_session(given.session) and not given.tool_input.get("session"):
            added["session"] = given.session
        if added:
            fields["updatedInput"] = {**given.tool_input, **added}
    return specific_output("PreToolUse", fields)
