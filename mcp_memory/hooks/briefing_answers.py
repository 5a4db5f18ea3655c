"""Answers the hooks of a session's start and of a prompt with the text that the agent should know."""

from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Any

import anyio

from mcp_memory.core.serializers import Payload
from mcp_memory.errors import DeadlineExceeded, McpMemoryError
from mcp_memory.hooks.hook_call import HookCall, context
from mcp_memory.hooks.person_message import SHOWN_BY, trouble_of, waiting_line
from mcp_memory.hooks.tool_answers import answer_subagent_prompt
from mcp_memory.text.conversation.typed_words import typed_words

FORGETFUL = frozenset({"openclaw"})
"""Clients whose model sees the text of a prompt's hook in that turn only, so it may be given again. They also request
the text of a session's start until they get it."""

EMPTIED = frozenset({"clear", "compact"})
"""The sources of a start after which the session's context is empty."""

LOOK_S = 0.1
"""The seconds at a session's start for checking whether memory is usable, which takes 2 ms."""


async def answer_start(call: HookCall) -> bytes:
    if call.given.source in EMPTIED:
        await call.perform("emptied", {**call.transcript(), "session": call.session})
    briefing = await call.perform("brief", {**await _wanted(call), **_start_options(call)})
    return context("SessionStart", call.told([briefing]), await _for_person(call, briefing))


async def answer_prompt(call: HookCall) -> bytes:
    session, given = call.session, call.given
    prompt = typed_words(given.prompt)
    if not prompt.strip():  # a client also passes notices of ended background work, and its own summaries
        return b""
    if given.agent_id:
        return await answer_subagent_prompt(call)
    wanted = await _wanted(call)
    briefings: list[Payload] = []
    start: Payload | None = None
    shown = (
        None if call.client in FORGETFUL else await call.owes_start(call.client, given.session, call.facts["project"])
    )
    if shown is not None:
        began = monotonic()
        start = await call.perform("brief", {**wanted, **_start_options(call)})
        briefings += [start] if not shown or not shown.issuperset(start["notes"]) else []
        call.facts["started"] = True
        wanted["within_ms"] = max(1, call.within_ms - int((monotonic() - began) * 1000))
    wanted |= {"session": session, "prompt": prompt, "lasting": call.client not in FORGETFUL}
    wanted |= {"withdrawn": "withdrawn" not in call.config.off, "ask_below": call.config.ask_below}
    try:
        briefings.append(await call.perform("brief", wanted))
    except DeadlineExceeded:
        if not briefings and not (start and start["stored"]):
            raise
    return context("UserPromptSubmit", call.told(briefings), await _for_person(call, start))


async def answer_heartbeat(call: HookCall) -> bytes:
    """Answer a turn that nobody asked for with the open commitments that are due, and nothing else."""
    if "commitments" in call.config.off:
        return b""
    wanted = {**await _wanted(call), "session": call.session, "due": True}
    return context("Heartbeat", call.told([await call.perform("brief", wanted)]))


async def _wanted(call: HookCall) -> Payload:
    project = await call.project()
    call.facts["project"] = project or ""
    return {**call.transcript(), "project": project, "within_ms": call.within_ms}


def _start_options(call: HookCall) -> Payload:
    is_wanted, for_person = "left-off" not in call.config.off, call.client in SHOWN_BY
    return {"left_off": is_wanted, "for_person": for_person, "folder": call.given.cwd}


async def _for_person(call: HookCall, start: Mapping[str, Any] | None) -> str:
    """Return the person's message at a session's start: what was stored without review, and a fault of memory or what
    waits."""
    if start is None or call.client not in SHOWN_BY:
        return ""
    lines = [start["stored"], waiting_line(start["waiting"])]
    with suppress(McpMemoryError), anyio.move_on_after(LOOK_S):
        status = await call.perform("status", {})
        if trouble := trouble_of(status):
            lines = [trouble, start["stored"]]
    return "\n".join(filter(None, lines))
