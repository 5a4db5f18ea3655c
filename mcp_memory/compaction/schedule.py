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
        self._again_at: float | None = None
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
    def is_waiting(self) -> bool:
        """Whether something has changed that no run has seen."""
        return self._first is not None

    @property
    def due_in_s(self) -> float | None:
        """0 for now; None where nothing has changed, or a run is under way."""
        due = [at for at in (self._due_by_changes(), self._again_at) if at is not None]
        if not due or self._is_running:
            return None
        return max(0.0, max(min(due), self._not_before) - self._clock())

    @property
    def is_overdue(self) -> bool:
        """Whether the longest wait is over, so that little is reason enough."""
        return self._first is not None and self._clock() >= self._first + self._longest_wait_s

    def begin(self) -> None:
        """A run begins, and sees all that has changed so far."""
        assert not self._is_running
        self._began_with, self._first, self._again_at, self._is_running = self._first, None, None, True

    def end(self, *, again_in_s: float | None = None, rests: bool = False) -> None:
        """It has ended. `again_in_s`: after so long another one is due even if nothing has changed; if it `rests`, none
        is due before."""
        self._is_running = False
        if again_in_s is not None:
            self._again_at = self._clock() + again_in_s
            self._not_before = self._again_at if rests else self._not_before

    def put_off(self) -> None:
        """It found too little to do, and has done nothing: that can have its longest wait, unless more comes."""
        self._is_running = False
        self._can_wait = self._first is None
        self._first = self._clock() if self._began_with is None else self._began_with

    def _due_by_changes(self) -> float | None:
        if self._first is None:
            return None
        latest = self._first + self._longest_wait_s
        return latest if self._can_wait else min(latest, self._last + self._quiet_s)
