"""Answers the hooks of a session's start and of a prompt: what the agent should know."""

from time import monotonic
from typing import Any

from mcp_memory.errors import DeadlineExceeded
from mcp_memory.hooks.hook_call import HookCall, context

FORGETFUL = frozenset({"openclaw"})
"""Clients whose model sees what comes with a prompt in that turn only, so it may be given again. They also ask for the
text of a session's start until they get it."""


async def answer_start(call: HookCall) -> bytes:
    briefing = await call.perform("brief", await _wanted(call))
    return _told(call, "SessionStart", [briefing])


async def answer_prompt(call: HookCall) -> bytes:
    session, given = call.session, call.given
    if not given.prompt.strip():
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
    return _told(call, "UserPromptSubmit", briefings)


async def _wanted(call: HookCall) -> dict[str, Any]:
    return {**call.transcript(), "project": await call.project(), "within_ms": call.within_ms}


def _told(call: HookCall, name: str, briefings: list[dict[str, Any]]) -> bytes:
    if degraded := next((briefing["degraded"] for briefing in briefings if briefing["degraded"]), None):
        call.facts["degraded"] = degraded
    text = "\n".join(str(briefing["text"]) for briefing in briefings if briefing["text"])
    if not text:
        return b""
    call.facts.update(
        outcome="given",
        tokens=sum(briefing["tokens"] for briefing in briefings),
        notes=list(dict.fromkeys(note for briefing in briefings for note in briefing["notes"])),
    )
    return context(name, text)
