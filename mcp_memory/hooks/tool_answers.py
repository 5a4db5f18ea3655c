"""Answers the hook before a tool call: allows our own tools and fills in the project and session of a call. An agent
gets the notes about its action, a sub-agent the notes about its task."""

import re
from typing import Any

from mcp_memory.core.arguments import is_session
from mcp_memory.core.project_finder import holds_everywhere, own_project, takes_project
from mcp_memory.hooks.action_answers import ACTING, answer_before_action
from mcp_memory.hooks.hook_call import HookCall, specific_output
from mcp_memory.hooks.subagent_answers import STARTING, answer_before_subagent
from mcp_memory.tool_names import APPEND, FORGET, TOOLS

_OWN = re.compile(f"mcp__.+__({'|'.join(TOOLS)})")
"""The names that Claude Code and Codex give our tools. The matcher of `install` contains our server's name too, so
another server's tool of that name doesn't come here."""


async def answer_before_tool(call: HookCall) -> bytes:
    if own := _OWN.fullmatch(call.given.tool):
        return b"" if "own-tools" in call.config.off else await _allow(call, own[1])
    if call.given.tool in ACTING:
        return await answer_before_action(call)
    return await answer_before_subagent(call) if call.given.tool in STARTING else b""


async def _allow(call: HookCall, tool: str) -> bytes:
    """Allow our own tool. Your own rule that denies the tool, or asks you, takes precedence."""
    given, fields = call.given, dict[str, Any](permissionDecision="allow")
    if not given.is_shortened:  # otherwise a cut text would be stored
        added: dict[str, Any] = {}
        named = given.tool_input.get("project")
        project = await call.project() if tool != FORGET and (named or takes_project(given.tool_input)) else None
        if (named and own_project(named, project) != named) or (
            project and not named and not holds_everywhere(given.tool_input, project)
        ):
            added["project"] = project
        if tool in {APPEND, FORGET} and is_session(given.session) and not given.tool_input.get("session"):
            added["session"] = given.session
        if added:
            fields["updatedInput"] = {**given.tool_input, **added}
    return specific_output("PreToolUse", fields)
