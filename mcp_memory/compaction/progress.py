"""The course of compaction: what is being done, and what the last run did, for `status`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_memory.compaction.journal import JobEntry
from mcp_memory.compaction.report import gist_of
from mcp_memory.runtime.health import Progress

IDLE = "idle"


@dataclass(frozen=True, slots=True)
class LastRun:
    """A run: its name, which is when it began, by this device's clock (`20261121T093005`); and what it did."""

    run: str
    about: str


class RunProgress:
    """`whole` shows it with the engine's other work."""

    def __init__(self, whole: Progress) -> None:
        self._whole = whole
        self.now = Progress()
        self.last: LastRun | None = None
        """The last one that did anything."""

    def step(self, phase: str, done: int = 0, total: int = 0) -> None:
        self.now.step(phase, done, total)
        self._whole.step(phase, done, total)

    def rest(self) -> None:
        self.step(IDLE)

    def ended(self, run: str, entries: Sequence[JobEntry]) -> None:
        if entries:
            self.last = LastRun(run, gist_of(entries))
