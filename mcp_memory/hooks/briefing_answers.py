"""Answers the hooks of a session's start and of a prompt: what the agent should know."""

from time import monotonic
from typing import Any

from mcp_memory.errors import DeadlineExceeded
from mcp_memory.hooks.hook_call import HookCall, context
from mcp_memory.hooks.subagent_answers import answer_subagent_prompt

FORGETFUL = frozenset({"openclaw"})
"""Clients whose model sees what comes with a prompt in that turn only, so it may be given again. They also ask for the
text of a session's start until they get it."""

NOTICE = "<task-notification>"
"""Begins what Claude Code passes for a prompt when a sub-agent or a command in the background has ended."""


async def answer_start(call: HookCall) -> bytes:
    briefing = await call.perform("brief", await _wanted(call))
    return context("SessionStart", call.told([briefing]))


async def answer_prompt(call: HookCall) -> bytes:
    session, given = call.session, call.given
    if given.agent_id:
        return await answer_subagent_prompt(call)
    if not given.prompt.strip() or given.prompt.startswith(NOTICE):
        return b""
    wanted = await _wanted(call)
    briefings: list[dict[str, Any]] = []
    if call.client not in FORGETFUL and await call.owes_start(call.client, given.session):
        began = monotonic()
        briefings.append(await call.perform("brief", wanted))
        call.facts["started"] = True
        wanted["within_ms"] = max(1, call.within_ms - int((monotonic() - began) * 1000))
    wanted |= {"session": session, "prompt": given.prompt, "lasting": call.client not in FORGETFUL}
    try:
        briefings.append(await call.perform("brief", wanted))
    except DeadlineExceeded:
        if not briefings:
            raise
    return context("UserPromptSubmit", call.told(briefings))


async def _wanted(call: HookCall) -> dict[str, Any]:
    return {**call.transcript(), "project": await call.project(), "within_ms": call.within_ms}
