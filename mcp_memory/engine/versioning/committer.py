"""The committer: one task that commits what the engine has changed, a moment after it did, behind every answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic

import anyio

from mcp_memory.engine.health import Commits, Health
from mcp_memory.engine.notes import Layout
from mcp_memory.engine.threads import in_thread
from mcp_memory.engine.versioning.config import GitConfig
from mcp_memory.engine.versioning.pending import Pending
from mcp_memory.engine.versioning.telling import parts_of
from mcp_memory.errors import Busy, McpMemoryError
from mcp_memory.storage.causes import naming_the_cause
from mcp_memory.versions.committing import Committed, commit
from mcp_memory.versions.repository import find

MOST_QUIETS = 6
"""So many quiet times after the first change a commit is made also while changes go on."""
COMMIT_S = 20.0
"""Of thousands of files; a few take a tenth of a second. The engine does not end before."""
CLOSING_S = 5.0
"""What waits longer when the engine ends is committed at the next start."""
FIRST_RETRY_S, LAST_RETRY_S = 1.0, 30.0
"""While git is busy or says no; doubled each time."""


class Committer:
    """Nothing else runs git to change anything."""

    def __init__(self, root: Path, pending: Pending, layout: Layout, health: Health, config: GitConfig) -> None:
        self._root = root
        self._pending = pending
        self._layout = layout
        self._health = health
        self._config = config
        self._changed = anyio.Event()
        self._last = monotonic()
        self._state = Commits()
        health.commits = self.state

    def state(self) -> Commits:
        return replace(self._state, waiting=len(self._pending))

    async def run(self) -> None:
        """Until it is cancelled; then what is pending is committed, if that is quickly done."""
        loop = asyncio.get_running_loop()
        self._pending.on_change(lambda: _call(loop, self._note))
        try:
            while True:
                if not self._pending:
                    await self._changed.wait()
                await self._quiet()
                retry_s = FIRST_RETRY_S
                while not await self._attempt(COMMIT_S):
                    await anyio.sleep(retry_s)
                    retry_s = min(LAST_RETRY_S, 2 * retry_s)
        finally:
            with anyio.CancelScope(shield=True):
                if self._pending:
                    await self._attempt(CLOSING_S)

    def _note(self) -> None:
        self._last = monotonic()
        self._changed.set()

    async def _quiet(self) -> None:
        latest = monotonic() + MOST_QUIETS * self._config.quiet_s
        while (left := min(self._last + self._config.quiet_s, latest) - monotonic()) > 0:  # noqa: ASYNC110 -- by the clock
            await anyio.sleep(left)

    async def _attempt(self, deadline_s: float) -> bool:
        """Whether nothing is left to do. Told in `status`; an answer never waits for it or fails by it."""
        self._changed = anyio.Event()
        with self._health.watching("git"), anyio.CancelScope(shield=True):  # the index must not stay locked
            try:
                made = await in_thread(lambda: self._commit(deadline_s), deadline_s=deadline_s + 10, what="committing")
            except McpMemoryError as error:
                hint = error.hint or "nothing to do: it is tried again"
                self._state = Commits(0, self._state.last, error.message, hint, isinstance(error, Busy))
            else:
                self._state = Commits(0, made.commits[-1] if made.commits else self._state.last)
                return True
        return False

    def _commit(self, deadline_s: float) -> Committed:
        """In a worker thread, which ends by itself at the deadline."""
        with naming_the_cause(str(self._root)):
            pending = self._pending.snapshot()
            if not pending:
                return Committed()
            repository = find(self._root, deadline_s)
            made = commit(repository, list(pending), lambda changes: list(parts_of(changes, self._layout)))
            self._pending.settle(pending)
            return made


def _call(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop is closed: what is pending is on disk
        loop.call_soon_threadsafe(work)
