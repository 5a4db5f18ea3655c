"""Makes the daemon's answer to a hook, in the form that the client takes."""

import json
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Any, NamedTuple

from mcp_memory.errors import DeadlineExceeded, Unusable
from mcp_memory.hooks.hook_command import START
from mcp_memory.hooks.hook_input import HookInput, is_nested
from mcp_memory.runtime.threads import LOOK_DEADLINE_S

PROMPT, FLUSH, COMPACT, STOP, END = "prompt", "flush", "pre-compact", "stop", "session-end"
EVENTS = (START, PROMPT, FLUSH, COMPACT, STOP, END)

NAMES = {START: "SessionStart", PROMPT: "UserPromptSubmit", FLUSH: "Flush"}
"""The names in Claude Code and Codex of the events that add to the context; neither has a flush."""

COMPACTION = """Long-term memory outlives this compaction: memory_search and memory_recall bring back what came from it.
In the summary name such notes by id or path instead of repeating their text.
"""
TAKES_COMPACTION = frozenset({"claude-code"})
"""Clients that add what `pre-compact` prints to the prompt of the compaction."""

FORGETFUL = frozenset({"openclaw"})
"""Clients whose model sees what comes with a prompt in that turn only, so it may be given again. They also ask for the
text of a session's start until they get it."""

Perform = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Performs an operation of the engine, by its name, with its arguments."""

ProjectOf = Callable[[str, float], Awaitable[str | None]]
"""Finds the project of a folder, within so many seconds."""

OwesStart = Callable[[str, str], Awaitable[bool]]
"""Whether this session of a client still lacks what it should have got at its start."""


class HookAnswer(NamedTuple):
    """`output` is for the client, empty for silence; `facts` are for the log."""

    output: bytes
    facts: dict[str, Any]


async def answer(
    perform: Perform,
    project_of: ProjectOf,
    event: str,
    client: str,
    data: bytes,
    within_ms: int,
    environ: Mapping[str, str],
    owes_start: OwesStart,
) -> HookAnswer:
    """`environ`: the variables that the hook carries, see `hook_input.MARKS`. Raises Unusable for an unknown event or
    unusable input, and what the engine raises."""
    if event not in EVENTS:
        raise Unusable("unknown event", hint=f"one of {', '.join(EVENTS)}")
    if event == FLUSH:
        text = str((await perform("flush", {}))["text"])
        return HookAnswer(_context(FLUSH, text) if text else b"", {})
    given = HookInput(data)
    if not given.session and event != START:
        raise Unusable("the input names no session")
    facts: dict[str, Any] = {"session": given.session}
    # The engine decides what happens to the transcript, after the hook is answered.
    session = {
        "session": f"{client}/{given.session}",
        "transcript": given.transcript or None,
        "delegated": is_nested(client, given.session, environ),
    }
    if event in {COMPACT, STOP, END}:
        if event != STOP or given.transcript:
            await perform("grown" if event == STOP else "emptied", session)
        return HookAnswer(COMPACTION.encode() if event == COMPACT and client in TAKES_COMPACTION else b"", facts)
    if event == PROMPT and not given.prompt.strip():
        return HookAnswer(b"", facts)
    project = await project_of(given.cwd, min(within_ms / 1000, LOOK_DEADLINE_S))
    wanted: dict[str, Any] = {**session, "project": project, "within_ms": within_ms}
    briefings: list[dict[str, Any]] = []
    if event == PROMPT and client not in FORGETFUL and await owes_start(client, given.session):
        began = monotonic()
        briefings.append(await perform("brief", wanted))
        facts["started"] = True
        wanted["within_ms"] = max(1, within_ms - int((monotonic() - began) * 1000))
    if event == PROMPT:
        wanted |= {"prompt": given.prompt, "lasting": client not in FORGETFUL}
    try:
        briefings.append(await perform("brief", wanted))
    except DeadlineExceeded:
        if not briefings:
            raise
    if degraded := next((briefing["degraded"] for briefing in briefings if briefing["degraded"]), None):
        facts["degraded"] = degraded
    text = "\n".join(str(briefing["text"]) for briefing in briefings if briefing["text"])
    if not text:
        return HookAnswer(b"", facts)
    facts |= {
        "outcome": "given",
        "tokens": sum(briefing["tokens"] for briefing in briefings),
        "notes": list(dict.fromkeys(note for briefing in briefings for note in briefing["notes"])),
    }
    return HookAnswer(_context(event, text), facts)


def _context(event: str, text: str) -> bytes:
    context = {"hookEventName": NAMES[event], "additionalContext": text}
    return json.dumps({"hookSpecificOutput": context}).encode("ascii")
