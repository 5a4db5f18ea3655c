"""The daemon's answer to a hook: what the event and the client's words come to, in the form that the client takes."""

from __future__ import annotations

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
"""What Claude Code and Codex call the events that put something into the context; neither has a flush."""

COMPACTION = """Long-term memory outlives this compaction: memory_search and memory_recall bring back what came from it.
In the summary name such notes by id or path instead of repeating their text.
"""
TAKES_COMPACTION = frozenset({"claude-code"})
"""The clients that put what `pre-compact` prints into the prompt of the compaction."""

FORGETFUL = frozenset({"openclaw"})
"""The clients that show the model what comes with a prompt in that turn alone: it may be given again. They also ask for
the text of a session's start until they get it."""

Perform = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""An operation of the engine, by its name, with its arguments."""

ProjectOf = Callable[[str, float], Awaitable[str | None]]
"""`project.project_of` a folder, within so many seconds."""


OwesStart = Callable[[str, str], Awaitable[bool]]
"""Whether this session of a client has not heard yet what it should have at its start."""


class HookAnswer(NamedTuple):
    """`output` is what the client reads, empty for silence; `facts` are for the log."""

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
    """`environ` is what the hook carries of its own, see `nested`.

    Raises Unusable for an event that is not known and for words that cannot be used, and what the engine raises."""
    if event not in EVENTS:
        raise Unusable("no event that is known", hint=f"one of {', '.join(EVENTS)}")
    if event == FLUSH:
        text = str((await perform("flush", {}))["text"])
        return HookAnswer(_context(FLUSH, text) if text else b"", {})
    said = HookInput(data)
    if not said.session and event != START:
        raise Unusable("the input names no session")
    facts: dict[str, Any] = {"session": said.session}
    # What becomes of a transcript is the engine's to say, once the hook is answered.
    session = {
        "session": f"{client}/{said.session}",
        "transcript": said.transcript or None,
        "delegated": is_nested(client, said.session, environ),
    }
    if event in {COMPACT, STOP, END}:
        if event != STOP or said.transcript:
            await perform("grown" if event == STOP else "emptied", session)
        return HookAnswer(COMPACTION.encode() if event == COMPACT and client in TAKES_COMPACTION else b"", facts)
    if event == PROMPT and not said.prompt.strip():
        return HookAnswer(b"", facts)
    project = await project_of(said.cwd, min(within_ms / 1000, LOOK_DEADLINE_S))
    wanted: dict[str, Any] = {**session, "project": project, "within_ms": within_ms}
    briefings: list[dict[str, Any]] = []
    if event == PROMPT and client not in FORGETFUL and await owes_start(client, said.session):
        began = monotonic()
        briefings.append(await perform("brief", wanted))
        facts["started"] = True
        wanted["within_ms"] = max(1, within_ms - int((monotonic() - began) * 1000))
    if event == PROMPT:
        wanted |= {"prompt": said.prompt, "lasting": client not in FORGETFUL}
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
