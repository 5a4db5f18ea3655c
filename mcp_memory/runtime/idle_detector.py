"""Traffic: who is being served, so that work in the background stands back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import wraps
from math import inf
from time import monotonic
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import anyio

from mcp_memory.errors import IndexReplaced

LOOK_S = 0.05
"""How often a pause looks whether calls are still being served."""

T = TypeVar("T")
P = ParamSpec("P")


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


class Serving(Protocol):
    @property
    def traffic(self) -> IdleDetector: ...


S = TypeVar("S", bound=Serving)


def served(method: Callable[Concatenate[S, P], Awaitable[T]]) -> Callable[Concatenate[S, P], Awaitable[T]]:
    """For a method that somebody waits for. It is called again where it was the first to find the index damaged: its
    answer then comes from the new one, and says so."""

    @wraps(method)
    async def counted(self: S, *arguments: P.args, **named: P.kwargs) -> T:
        with self.traffic.serving():
            try:
                return await method(self, *arguments, **named)
            except IndexReplaced:
                return await method(self, *arguments, **named)

    return counted
