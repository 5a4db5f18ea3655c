"""The schedule: when a run is due. Pure but for its clock."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic


class Schedule:
    """A run is due when nothing has changed for `quiet_s`, or `longest_wait_s` after the first change that no run has
    seen; never while one is under way, nor before a rest that was asked for is over.

    `clock` is in monotonic seconds.
    """

    def __init__(self, *, quiet_s: float, longest_wait_s: float, clock: Callable[[], float] = monotonic) -> None:
        self._quiet_s = quiet_s
        self._longest_wait_s = max(quiet_s, longest_wait_s)
        self._clock = clock
        self._first: float | None = None
        self._last = 0.0
        self._not_before = 0.0
        self._can_wait = False
        self._is_running = False
        self._began_with: float | None = None

    def changed(self) -> None:
        """Something that a run may have to do with was written."""
        self._last = self._clock()
        self._first = self._last if self._first is None else self._first
        self._can_wait = False

    @property
    def due_in_s(self) -> float | None:
        """0 for now; None where nothing has changed, or a run is under way."""
        if self._first is None or self._is_running:
            return None
        latest = self._first + self._longest_wait_s
        due = latest if self._can_wait else min(latest, self._last + self._quiet_s)
        return max(0.0, max(due, self._not_before) - self._clock())

    @property
    def is_overdue(self) -> bool:
        """Whether the longest wait is over, so that little is reason enough."""
        return self._first is not None and self._clock() >= self._first + self._longest_wait_s

    def begin(self) -> None:
        """A run begins, and sees all that has changed so far."""
        assert not self._is_running
        self._began_with, self._first, self._is_running = self._first, None, True

    def end(self, *, rest_s: float | None = None) -> None:
        """It has ended. `rest_s`: after so long another one is due, whatever changes, and none before."""
        self._is_running = False
        if rest_s is not None:
            self.changed()
            self._not_before = self._clock() + rest_s

    def put_off(self) -> None:
        """It found too little to do, and has done nothing: that can have its longest wait, unless more comes."""
        self._is_running = False
        self._can_wait = self._first is None
        self._first = self._began_with
