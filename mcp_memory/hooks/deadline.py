"""The deadline of a hook: one for all that it does, whatever it waits for."""

from __future__ import annotations

import os
import signal
from time import monotonic, process_time
from types import FrameType

from mcp_memory.settings.budgets import SESSION_START_MS

RESERVE_MS = 40.0
"""Kept for the line in the log; past it the process ends where it stands."""


class OverBudget(BaseException):
    """The time is up. No `except` in between takes it for an error of its own."""


class Deadline:
    """Of this process, counted from its start; for one whose budget nobody has told yet the longest counts."""

    def __init__(self, budget_ms: float = SESSION_START_MS) -> None:
        # What the interpreter took to start was work, so its processor time tells how long ago that was.
        self._began = monotonic() - process_time()
        self._is_armed = self._rang = False
        self._until = 0.0
        self.set(budget_ms)

    def armed(self) -> Deadline:
        """With an alarm clock that raises OverBudget: a read, a disk or a lock may hang."""
        self._is_armed = True
        signal.signal(signal.SIGALRM, self._ring)
        self._wind()
        return self

    def set(self, budget_ms: float) -> None:
        self._until = self._began + (budget_ms - RESERVE_MS) / 1000
        if self._is_armed:
            self._wind()

    @property
    def left_ms(self) -> float:
        return max(0.0, self._until - monotonic()) * 1000

    @property
    def taken_ms(self) -> float:
        return (monotonic() - self._began) * 1000

    def _wind(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, max(0.001, self._until - monotonic()), RESERVE_MS / 1000)

    def _ring(self, _signal: int, _frame: FrameType | None) -> None:
        if self._rang:
            os._exit(0)
        self._rang = True
        raise OverBudget
