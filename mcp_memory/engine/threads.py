"""Blocking work in worker threads, each with a deadline."""

from __future__ import annotations

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
