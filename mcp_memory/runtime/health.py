"""Health: what long work is under way and what went wrong with it, for `status`, `doctor` and progress bars."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Problem
from mcp_memory.runtime.threads import place_of

log = logging.getLogger(__name__)


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
    def tracking(self, phase: str, total: int, *, at_least: int = 0) -> Generator[Callable[[int], None]]:
        """For work on so many things: call what it gives with how many are done. Too few to show are not shown."""
        shown = total > at_least
        if shown:
            self.step(phase, 0, total)
        try:
            yield lambda done: self.step(phase, done, total) if shown else None
        finally:
            if shown:
                self.step("idle")


@dataclass(frozen=True, slots=True)
class CommitHealth:
    """How it is with commits to the person's git repository. `waiting`: so many files no commit holds yet; `last`: the
    latest commit since the start; `why` they wait for more than a moment, if they do, and what helps."""

    waiting: int = 0
    last: str | None = None
    why: str | None = None
    remedy: str | None = None
    passes: bool = False
    """Whether that will be over by itself."""


@dataclass(slots=True)
class Health:
    """Of one engine; its parts report here."""

    progress: Progress = field(default_factory=Progress)
    faults: dict[str, Problem] = field(default_factory=dict[str, Problem])
    """What is wrong with the work itself, by its name; what is wrong with single files the writer knows."""
    commits: Callable[[], CommitHealth] | None = None
    """None where none are made."""

    @contextmanager
    def watching(self, work: str) -> Generator[None]:
        """For work that must not end the daemon: what goes wrong is a fault under its name, until it goes well."""
        try:
            yield
        except McpMemoryError as error:
            self.faults[work] = Problem(work, error.message)
        except Exception as error:  # a fault of ours: it is said, and the work is tried again
            self.faults[work] = Problem(work, f"{type(error).__name__} in the {work}")
            log.error("%s: %s", work, place_of(error))
        else:
            self.faults.pop(work, None)
