"""The deadline of a hook, shared by all its steps and waits."""

from __future__ import annotations

import os
import signal
import time

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from types import FrameType

RESERVE = 0.15
"""The share of the budget that is kept for the line in the log. After that, the process ends at once."""

MOST_AGE_S = 5.0
"""The greatest plausible age. A greater one comes from another kind of clock, as in some containers."""


class OverBudget(BaseException):
    """The error when the time is up. It isn't an Exception, so no `except` in between catches it."""


class Deadline:
    """The deadline of a process that began `age_s` ago. `until` is a time of `time.monotonic()`."""

    def __init__(self, budget_ms: float, age_s: float = 0.0) -> None:
        self._began = time.monotonic() - age_s
        self._is_armed = self._rang = False
        self.set(budget_ms)

    def armed(self) -> Deadline:
        """Start an alarm clock that raises OverBudget, since a read, a disk or a lock may hang. Return the deadline."""
        self._is_armed = True
        signal.signal(signal.SIGALRM, self._ring)
        self._wind()
        return self

    def set(self, budget_ms: float) -> None:
        self._reserve_s = budget_ms * RESERVE / 1000
        self.until = self._began + budget_ms / 1000 - self._reserve_s
        if self._is_armed:
            self._wind()

    @property
    def left_ms(self) -> float:
        return max(0.0, self.until - time.monotonic()) * 1000

    @property
    def taken_ms(self) -> float:
        return (time.monotonic() - self._began) * 1000

    def _wind(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, max(0.001, self.until - time.monotonic()), self._reserve_s)

    def _ring(self, _signal: int, _frame: FrameType | None) -> None:
        if self._rang:
            os._exit(0)
        self._rang = True
        raise OverBudget


def process_age_s() -> float:
    """Return the age of this process, which includes its start-up; to 10 ms if the system provides it."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        age_s = 0.0
    # Starting the interpreter is work, so its processor time is a fair guess.
    return age_s if time.process_time() <= age_s < MOST_AGE_S else time.process_time()
