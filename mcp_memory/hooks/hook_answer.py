"""Makes the daemon's answer to a hook, in the client's form."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from mcp_memory.errors import Unusable
from mcp_memory.hooks.briefing_answers import answer_heartbeat, answer_prompt, answer_start
from mcp_memory.hooks.hook_call import HookCall, context
from mcp_memory.hooks.hook_command import START
from mcp_memory.hooks.tool_answers import answer_after_tool, answer_before_tool, answer_subagent

COMPACTION = """Long-term memory outlives this compaction: memory_search and memory_recall bring back what came from it.
In the summary name such notes by id or path instead of repeating their text.
"""
TAKES_COMPACTION = frozenset({"claude-code"})
"""Clients that add the output of `pre-compact` to the prompt of the compaction."""


async def answer_flush(call: HookCall) -> bytes:
    text = str((await call.perform("flush", {}))["text"])
    return context("Flush", text)


async def answer_compaction(call: HookCall) -> bytes:
    await call.perform("emptied", {**call.transcript(), "session": call.session})
    return COMPACTION.encode() if call.client in TAKES_COMPACTION else b""


async def answer_stop(call: HookCall) -> bytes:
    transcript = {**call.transcript(), "session": call.session}
    if call.given.transcript:
        await call.perform("grown", transcript)
    return b""


async def answer_end(call: HookCall) -> bytes:
    await call.perform("emptied", {**call.transcript(), "session": call.session, "ended": True})
    return b""


_HANDLERS: Mapping[str, Callable[[HookCall], Awaitable[bytes]]] = {
    START: answer_start,
    "prompt": answer_prompt,
    "before-tool": answer_before_tool,
    "after-tool": answer_after_tool,
    "subagent-start": answer_subagent,
    "heartbeat": answer_heartbeat,
    "flush": answer_flush,
    "pre-compact": answer_compaction,
    "stop": answer_stop,
    "session-end": answer_end,
}
EVENTS = tuple(_HANDLERS)


class HookAnswer(NamedTuple):
    """The answer to a hook. `output` is for the client, empty for silence; `facts` are for the log."""

    output: bytes
    facts: dict[str, Any]


async def answer(call: HookCall) -> HookAnswer:
    """Answer a hook. Raises Unusable for an unknown event or unusable input, and the engine's errors."""
    handler = _HANDLERS.get(call.event)
    if handler is None:
        raise Unusable("unknown event", hint=f"one of {', '.join(EVENTS)}")
    output = await handler(call)
    return HookAnswer(output, {"session": call.given.session, **call.facts})
