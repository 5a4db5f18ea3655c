"""Traffic: who is being served, so that work in the background stands back."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import inf
from time import monotonic

import anyio

LOOK_S = 0.05
"""How often a pause looks whether calls are still being served."""


class IdleDetector:
    """The calls of one engine that somebody waits for. `clock` is in monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._under_way = 0
        self._last = -inf

    @contextmanager
    def serving(self) -> Generator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._last = self._clock()

    def is_quiet(self, for_s: float) -> bool:
        """Whether nobody is being served, and nobody was within the last `for_s`."""
        return not self._under_way and self._clock() - self._last >= for_s

    async def lull(self, *, quiet_s: float, at_most_s: float, unless: Callable[[], bool] = lambda: False) -> None:
        """Returns when nobody has been served for `quiet_s`, and after `at_most_s` or when `unless` says so whatever
        happens."""
        until = self._clock() + at_most_s
        while not self.is_quiet(quiet_s) and self._clock() < until and not unless():  # noqa: ASYNC110 -- time passes
            await anyio.sleep(LOOK_S)
