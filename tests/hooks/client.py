"""A client's part: it runs the command that is wired as a hook, says one JSON object, and reads what comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.daemon.place import Place

PATIENT = {"MCP_MEMORY_HOOKS_SESSION_START_MS": "10000", "MCP_MEMORY_HOOKS_PROMPT_MS": "10000"}
"""Tests share two cores; what is in time is a benchmark's to say."""

EVENT_NAMES = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "flush": "Flush",
    "heartbeat": "Heartbeat",
}


@dataclass(frozen=True)
class Session:
    """One session of an agent on a machine."""

    place: Place
    name: str
    client: str = "claude-code"
    cwd: str = "/"

    def start(self, source: str = "startup", **more: str) -> str:
        return self.context("session-start", {"source": source}, **more)

    def prompt(self, text: str, **more: str) -> str:
        return self.context("prompt", {"prompt": text}, **more)

    def context(self, event: str, said: Mapping[str, Any], **more: str) -> str:
        """What the hook puts into the agent's context; empty for silence."""
        out = self.run(event, json.dumps({**self.said(event), **said}).encode(), **more)
        if "hookSpecificOutput" not in out:  # silence, or a line for the person from the command itself
            return ""
        context = json.loads(out)["hookSpecificOutput"]
        assert context.pop("hookEventName") == EVENT_NAMES[event]
        return context.pop("additionalContext", "")

    def said(self, event: str) -> dict[str, Any]:
        """What clients say with every event, and more than we know."""
        return {"session_id": self.name, "cwd": self.cwd, "hook_event_name": event, "transcript_path": "/x", "new": {}}

    def run(self, event: str, data: bytes, **more: str) -> str:
        """Standard output; the exit code must be 0 and nothing be said to people."""
        ran = self.place.run("hook", event, "--client", self.client, stdin=data, **{**PATIENT, **more})
        assert (ran.code, ran.err, ran.out.isascii()) == (0, "", True), ran
        return ran.out


def log_of(place: Place) -> list[dict[str, Any]]:
    """The lines of the hooks' log, of the calls in which the vault was known and of the others."""
    return [line for file in _files(place) for line in _lines(file)]


@contextmanager
def logged(place: Place) -> Iterator[list[dict[str, Any]]]:
    """The lines that the block adds, once it is over."""
    before = [len(_lines(file)) for file in _files(place)]
    new: list[dict[str, Any]] = []
    yield new
    for file, had in zip(_files(place), before, strict=True):
        new += _lines(file)[had:]


def _files(place: Place) -> list[Path]:
    return [place.root / "state" / "hooks.jsonl", place.state.hooks]


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
