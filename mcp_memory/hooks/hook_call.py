"""A hook's call, as its handlers see it, and the forms of their answers."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_memory.errors import Unusable
from mcp_memory.hooks.hook_input import HookInput, is_nested
from mcp_memory.runtime.threads import LOOK_DEADLINE_S
from mcp_memory.settings.settings import HooksConfig

Perform = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Performs an operation of the engine, by name, with arguments."""

ProjectOf = Callable[[str, float], Awaitable[str | None]]
"""Finds the project of a folder, within a number of seconds."""

OwesStart = Callable[[str, str, str], Awaitable[set[str] | None]]
"""Returns the notes shown to a client's session if it lacks the text of its start or of this project ("" for none);
else None."""


@dataclass(frozen=True)
class HookCall:
    """A hook's call. `environ`: the variables that the hook carries, see `hook_input.MARKS`. `facts` are for the
    log."""

    event: str
    client: str
    given: HookInput
    within_ms: int
    environ: Mapping[str, str]
    perform: Perform
    project_of: ProjectOf
    owes_start: OwesStart
    config: HooksConfig
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def session(self) -> str:
        """The session's name; a sub-agent has its own. Raises Unusable without a session."""
        if not self.given.session:
            raise Unusable("the input names no session")
        return "/".join(filter(None, (self.client, self.given.session, self.given.agent_id)))

    def transcript(self) -> dict[str, Any]:
        """Return the facts with which the engine follows the session. It decides later about the transcript."""
        return {
            "session": f"{self.client}/{self.given.session}",
            "transcript": self.given.transcript or None,
            "delegated": is_nested(self.client, self.given.session, self.environ),
        }

    async def project(self) -> str | None:
        if self.given.project:
            return self.given.project
        return await self.project_of(self.given.cwd, min(self.within_ms / 1000, LOOK_DEADLINE_S))

    def told(self, briefings: Sequence[Mapping[str, Any]]) -> str:
        """Return the text of these answers of `brief`, and record their facts for the log; empty for silence."""
        if degraded := next((briefing["degraded"] for briefing in briefings if briefing["degraded"]), None):
            self.facts["degraded"] = degraded
        if text := "\n".join(str(briefing["text"]) for briefing in briefings if briefing["text"]):
            self.facts.update(
                outcome="given",
                tokens=sum(briefing["tokens"] for briefing in briefings),
                notes=list(dict.fromkeys(note for briefing in briefings for note in briefing["notes"])),
            )
        return text


def context(name: str, text: str, person: str = "") -> bytes:
    """Return an answer with text for the agent and a line for the person; silence for neither. `name`: the event's name
    in Claude Code and Codex."""
    more = {"systemMessage": person} if person else {}
    fields = {"additionalContext": text} if text else {}
    return specific_output(name, fields, **more) if more or fields else b""


def specific_output(name: str, fields: Mapping[str, Any], **more: str) -> bytes:
    """Return an answer with the event's own `fields`. `more` is put beside them."""
    return json.dumps({**more, "hookSpecificOutput": {"hookEventName": name, **fields}}).encode("ascii")
