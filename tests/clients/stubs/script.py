"""What the stubbed model does: the lines `CALL tool {"argument": …}` of the prompt, one after the other.

A short tool name stands for the one listed tool that ends with it, because clients prefix the names of a
server's tools in their own ways. A tool that the client does not list is never called: the model says so instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FINISHED = "SCRIPT-FINISHED"
NOT_LISTED = "SCRIPT-STOPPED: no such tool:"

# Not at the line's start alone: OpenClaw puts the time in front of a prompt.
_STEP = re.compile(r"\bCALL (\S+) (\{.*\})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the client lists it to the model."""

    name: str
    namespace: str | None = None

    def answers_to(self, wanted: str) -> bool:
        """Whether `wanted` is this tool's name, in full or without the client's prefix."""
        return self.name == wanted or self.name.endswith(f"__{wanted}")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one request tells the model; no wire format is left in it."""

    tools: Sequence[Tool]
    prompts: Sequence[str]
    calls_made: int
    results: Sequence[str]
    """The texts that the client returned for the calls made so far."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A tool call, or a closing text when `tool` is None."""

    text: str = ""
    tool: Tool | None = None
    arguments: Mapping[str, Any] | None = None


def call(tool: str, **arguments: object) -> str:
    """One line of a script."""
    return f"CALL {tool} {json.dumps(arguments)}"


def reply_to(turn: Turn) -> Reply:
    """The next step of the script, or a text when it is over or the request offers no tool (a title, a summary)."""
    steps = [match.groups() for prompt in turn.prompts for match in _STEP.finditer(prompt)]
    if not turn.tools or turn.calls_made >= len(steps):
        return Reply(text=FINISHED)
    wanted, arguments = steps[turn.calls_made]
    tool = next((t for t in turn.tools if t.answers_to(wanted)), None)
    if tool is None:
        return Reply(text=f"{NOT_LISTED} {wanted}")
    return Reply(tool=tool, arguments=json.loads(arguments))
