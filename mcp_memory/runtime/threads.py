"""Run blocking work in worker threads, each with a deadline."""

import asyncio
import atexit
import threading
import traceback
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from math import inf
from typing import TypeVar, TypeVarTuple

import anyio
import anyio.to_thread

from mcp_memory.errors import DeadlineExceeded

T = TypeVar("T")
Given = TypeVarTuple("Given")

LOOK_DEADLINE_S = 30.0  # for a read that someone waits for
LONG_S = 120.0  # for work on a whole vault or index
EXIT_S = 10.0  # for abandoned work when the program ends; the bundled model loads in 0.5 s

_under_way = set["_Place"]()
_ended = threading.Condition()


@atexit.register
def _wait_for_work() -> None:
    """Python 3.11 to 3.13 end a thread by unwinding its stack, which in C++ code, such as a model that is being loaded,
    aborts the program."""
    with _ended:
        _ended.wait_for(lambda: not _under_way, EXIT_S)


async def in_thread(
    work: Callable[[*Given], T],
    *given: *Given,
    what: str,
    deadline_s: float = LONG_S,
    limiter: anyio.CapacityLimiter | None = None,
) -> T:
    """Return the result of `work(*given)`, run in a worker thread.

    Raises DeadlineExceeded after `deadline_s`, with `what` as the work's name. The thread then runs on, since no thread
    can be stopped, and its result is dropped. It keeps its place in `limiter` until it ends, so hanging work cannot
    take thread after thread."""
    limiter = limiter or anyio.to_thread.current_default_thread_limiter()
    with anyio.move_on_after(deadline_s):
        place = _Place(limiter)
        await limiter.acquire_on_behalf_of(place)
        try:
            return await anyio.to_thread.run_sync(
                lambda: place.work(work, *given), abandon_on_cancel=True, limiter=anyio.CapacityLimiter(inf)
            )
        finally:
            place.leave()
    raise _late(what, deadline_s)


class ThreadPool:
    """Worker threads of which `at_once` work at a time. More threads would contend for Python's lock, and each would
    take several times as long. A thread that overruns its deadline no longer takes a place, until `most` threads
    hang."""

    def __init__(self, at_once: int = 2, most: int = 12) -> None:
        self._turns = _Line(at_once)
        self._threads = anyio.CapacityLimiter(most)

    async def run(self, work: Callable[[], T], *, what: str, deadline_s: float, is_repeat: bool = False) -> T:
        """Run like `in_thread`, with the wait for a turn in the deadline. A repeat goes first, as it has waited."""
        with anyio.move_on_after(deadline_s):
            async with self._turns.turn(is_first=is_repeat):
                return await in_thread(work, what=what, deadline_s=deadline_s, limiter=self._threads)
        raise _late(what, deadline_s)


class _Line:
    """Turns in the order of the requests, except for requests that go first."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting = deque[anyio.Event]()

    @asynccontextmanager
    async def turn(self, *, is_first: bool) -> AsyncGenerator[None]:
        if self._free:
            self._free -= 1
        else:
            await self._wait(is_first=is_first)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, *, is_first: bool) -> None:
        called = anyio.Event()
        (self._waiting.appendleft if is_first else self._waiting.append)(called)
        try:
            await called.wait()
        except BaseException:
            if called.is_set():
                self._pass_on()
            else:
                self._waiting.remove(called)
            raise

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._free += 1


def _late(what: str, deadline_s: float) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"{what} took longer than {deadline_s:g} s", hint="try again; `mcp-memory doctor` may say why"
    )


def place_of(error: BaseException) -> str:
    """Return the error's type and where it was raised, without its message, which may quote a note."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


class _Place:
    """A place in a limiter, given back by whichever ends last: the thread or its caller."""

    def __init__(self, limiter: anyio.CapacityLimiter) -> None:
        self._limiter = limiter
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._busy = False
        self._left = False

    def work(self, work: Callable[[*Given], T], *given: *Given) -> T:
        """Do the work, in the thread."""
        with self._lock:
            if self._left:
                raise RuntimeError("the caller no longer waits")
            self._busy = True
        _under_way.add(self)
        try:
            return work(*given)
        finally:
            with _ended:
                _under_way.discard(self)
                _ended.notify_all()
            with self._lock:
                self._busy = False
                if self._left:
                    with suppress(RuntimeError):  # the loop is closed
                        self._loop.call_soon_threadsafe(self._give_back)

    def leave(self) -> None:
        """Note in the loop that the result is there or the caller no longer waits."""
        with self._lock:
            self._left = True
            if not self._busy:
                self._give_back()

    def _give_back(self) -> None:
        self._limiter.release_on_behalf_of(self)
