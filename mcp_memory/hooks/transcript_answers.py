"""Answers the hooks that only report that a session has grown, was emptied or ended, and the hook before a
compaction."""

from mcp_memory.hooks.hook_call import HookCall, context

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
