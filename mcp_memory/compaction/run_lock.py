"""Turns: one at a time works on the tree. What runs in the background makes room for a person."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from mcp_memory.errors import Busy


class RunLock:
    """A person's turn waits for what a crash left and for the next job of a run in the background, which takes
    moments; another person's is not waited for."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._persons = False

    @property
    def are_wanted(self) -> bool:
        """Whether a person waits: who works in the background is to stop."""
        return self._persons

    @property
    def are_taken(self) -> bool:
        """Whether anybody works, or waits to."""
        return self._persons or self._lock.locked()

    @asynccontextmanager
    async def of_a_person(self) -> AsyncGenerator[None]:
        """Raises Busy while another person's is under way."""
        if self._persons:
            raise Busy(
                "a compaction is running", hint="try again when it is done: mcp-memory status shows how far it is"
            )
        self._persons = True
        try:
            async with self._lock:
                yield
        finally:
            self._persons = False

    @asynccontextmanager
    async def in_the_background(self) -> AsyncGenerator[None]:
        async with self._lock:
            yield
