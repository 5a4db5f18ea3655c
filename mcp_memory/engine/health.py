"""Health: what long work is under way and what went wrong with it, for `status`, `doctor` and progress bars."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from mcp_memory.models import Problem


@dataclass(slots=True)
class Progress:
    """How far long work is. `at` is in monotonic seconds."""

    phase: str = "idle"
    done: int = 0
    total: int = 0
    at: float = field(default_factory=monotonic)

    def step(self, phase: str, done: int = 0, total: int = 0) -> None:
        self.phase, self.done, self.total, self.at = phase, done, total, monotonic()

    @contextmanager
    def of(self, phase: str, total: int, *, at_least: int = 0) -> Generator[Callable[[int], None]]:
        """For work on so many things: call what it gives with how many are done. Too few to show are not shown."""
        shown = total > at_least
        try:
            yield lambda done: self.step(phase, done, total) if shown else None
        finally:
            if shown:
                self.step("idle")


@dataclass(slots=True)
class Health:
    """Of one engine; its parts report here."""

    progress: Progress = field(default_factory=Progress)
    faults: dict[str, Problem] = field(default_factory=dict[str, Problem])
    """What is wrong with the work itself, by its name; what is wrong with single files the writer knows."""
