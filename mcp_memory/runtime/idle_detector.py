"""Tells background work whether anyone is being served."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import inf
from time import monotonic

import anyio

POLL_S = 0.05


class IdleDetector:
    """Counts the calls of one engine that someone waits for. `clock` is in monotonic seconds."""

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
        """Whether no call is running, and none has ended within the last `for_s`."""
        return not self._under_way and self._clock() - self._last >= for_s

    async def lull(self, *, quiet_s: float, at_most_s: float, unless: Callable[[], bool] = lambda: False) -> None:
        """Returns when it has been quiet for `quiet_s`, at the latest after `at_most_s` or once `unless` is true."""
        until = self._clock() + at_most_s
        while not self.is_quiet(quiet_s) and self._clock() < until and not unless():  # noqa: ASYNC110 -- time passes
            await anyio.sleep(POLL_S)
