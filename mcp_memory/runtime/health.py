"""Keep track of long work and its faults, for `status`, `doctor` and progress bars, and of whether anyone is being
served."""

import logging
import threading
from asyncio import _get_running_loop  # pyright: ignore[reportPrivateUsage] -- the public one raises, and that is slow
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Literal

import anyio

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Problem
from mcp_memory.runtime.threads import place_of

log = logging.getLogger(__name__)

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Finding:
    """A finding of `doctor`. `severity`: `error` needs you, `warning` may need you, `info` needs nothing. `fixable`:
    `doctor --repair` handles it."""

    severity: Severity
    what: str
    remedy: str
    fixable: bool = False


@dataclass
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


@dataclass
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


POLL_S = 0.05

GIVE_WAY_S, LULL_S, WORK_S = 0.04, 0.01, 0.005
"""The times of `give_way`. The longest wait, `GIVE_WAY_S`, is a few times the time of a search. A wait ends after
`LULL_S` without calls, so that repeated calls don't meet the job each time. `WORK_S` is the least work between two
waits. Under a load that never ends a job takes some nine times as long, whatever its loops."""

_BEHIND: ContextVar["IdleDetector | None"] = ContextVar("_BEHIND", default=None)
_gave_way = threading.local()


class IdleDetector:
    """A counter of the calls of one engine that someone waits for. `clock` is in monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._under_way = 0
        self._last = -inf
        self._idle = threading.Event()
        self._idle.set()
        self._pause = threading.Event()
        """Never set: a pause that no change of the clock disturbs, as `time.sleep` raises OSError then."""

    @contextmanager
    def serving(self) -> Generator[None]:
        self._under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._last = self._clock()
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    @contextmanager
    def behind(self) -> Generator[None]:
        """Make the block, its threads included, give way to calls that are served."""
        token = _BEHIND.set(self)
        try:
            yield
        finally:
            _BEHIND.reset(token)

    def wait_until_idle(self, at_most_s: float) -> None:
        """Wait in a worker thread until nobody is being served, at most `at_most_s`."""
        until = monotonic() + at_most_s
        while (left := until - monotonic()) > 0 and not self.is_quiet(LULL_S):
            if self._under_way:
                self._idle.wait(left)
            else:
                self._pause.wait(min(left, LULL_S))

    def is_quiet(self, for_s: float) -> bool:
        """Return whether no call is running, and none has ended within the last `for_s`."""
        return not self._under_way and self._clock() - self._last >= for_s

    async def lull(self, *, quiet_s: float, at_most_s: float, unless: Callable[[], bool] = lambda: False) -> None:
        """Wait until it has been quiet for `quiet_s`, at the latest until `at_most_s` or until `unless` is true."""
        until = self._clock() + at_most_s
        while not self.is_quiet(quiet_s) and self._clock() < until and not unless():  # noqa: ASYNC110 -- time passes
            await anyio.sleep(POLL_S)


def give_way() -> None:
    """Let waiting calls be served first, in the loops of a job. A thread that doesn't pause keeps Python's lock, for
    which a search waits some thirty times."""
    detector = _BEHIND.get()
    # The event loop's own thread must not wait for itself.
    if detector and _get_running_loop() is None and monotonic() - getattr(_gave_way, "at", -inf) >= WORK_S:
        detector.wait_until_idle(GIVE_WAY_S)
        _gave_way.at = monotonic()
