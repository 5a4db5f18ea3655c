"""Keep track of long work and its faults, for `status`, `doctor` and progress bars."""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Problem
from mcp_memory.runtime.threads import place_of

log = logging.getLogger(__name__)

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of `doctor`. `severity`: `error` needs you, `warning` may need you, `info` needs nothing. `fixable`:
    `doctor --repair` handles it."""

    severity: Severity
    what: str
    remedy: str
    fixable: bool = False


@dataclass(slots=True)
class Progress:
    """The progress of long work. `at` is in monotonic seconds."""

    phase: str = "idle"
    done: int = 0
    total: int = 0
    at: float = field(default_factory=monotonic)

    def step(self, phase: str, done: int = 0, total: int = 0) -> None:
        self.phase, self.done, self.total, self.at = phase, done, total, monotonic()

    @contextmanager
    def tracking(self, phase: str, total: int, *, at_least: int = 0) -> Generator[Callable[[int], None]]:
        """Yield a function to call with the number of things done. Progress is shown only for more than `at_least`
        things."""
        shown = total > at_least
        if shown:
            self.step(phase, 0, total)
        try:
            yield lambda done: self.step(phase, done, total) if shown else None
        finally:
            if shown:
                self.step("idle")


@dataclass(slots=True)
class Health:
    """The health of one engine; its parts report here."""

    progress: Progress = field(default_factory=Progress)
    faults: dict[str, Problem] = field(default_factory=dict[str, Problem])  # by the work's name, not by file

    @contextmanager
    def watching(self, work: str) -> Generator[None]:
        """Watch work that must not end the daemon: an error becomes a fault under its name, until the work succeeds."""
        try:
            yield
        except McpMemoryError as error:
            self.faults[work] = Problem(work, error.message)
        except Exception as error:  # our bug: report it and try the work again
            self.faults[work] = Problem(work, f"{type(error).__name__} in the {work}")
            log.error("%s: %s", work, place_of(error))
        else:
            self.faults.pop(work, None)
