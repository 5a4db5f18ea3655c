"""Blocking work in worker threads, each with a deadline."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from mcp_memory.errors import DeadlineExceeded

T = TypeVar("T")


async def in_thread(
    work: Callable[[], T], *, deadline_s: float, what: str, limiter: anyio.CapacityLimiter | None = None
) -> T:
    """The result of `work()`, run in a worker thread.

    Raises DeadlineExceeded after `deadline_s`; the thread then runs on by itself, since no thread can be stopped,
    and its result is dropped. `what` names the work in the message.
    """
    with anyio.move_on_after(deadline_s):
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
    raise DeadlineExceeded(
        f"{what} took longer than {deadline_s:g} s", hint="try again; `mcp-memory doctor` may say why"
    )


def place_of(error: BaseException) -> str:
    """The error's type and where it was raised. Not its message: that may quote what somebody stored."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"
