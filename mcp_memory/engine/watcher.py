"""The watcher: decides when to sweep. The sweep is the truth; file-system events only make it sooner.

Each folder is watched by itself, since a recursive watch follows links out of the vault; the sweep says which
folders there are.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic

import anyio
from watchfiles import Change, awatch  # pyright: ignore[reportUnknownVariableType]

from mcp_memory.engine.config import WatchConfig
from mcp_memory.engine.threads import in_thread

RETRY_S = 30.0
"""After the hints have failed (watch limit, folder gone), how long until they are tried again."""


class Watcher:
    """Calls `sweep` when a hint came in and things are quiet again, and in any case every so often.

    `sweep` returns the folders to watch, absolute.
    """

    def __init__(self, sweep: Callable[[], Awaitable[Sequence[Path]]], config: WatchConfig) -> None:
        self._sweep = sweep
        self._config = config
        self._hinted = anyio.Event()
        self._rewatch = anyio.Event()
        self._folders: Sequence[tuple[Path, int]] = ()
        self._used = monotonic()
        self.hints = "starting" if config.hints else "off"
        """How hints arrive, for `status`."""

    def touch(self) -> None:
        """A client called: sweep at the faster rate for a while."""
        self._used = monotonic()

    def hint(self) -> None:
        """Something changed: sweep when it is quiet."""
        self._hinted.set()

    async def run(self) -> None:
        """Sweep for ever, the first time at once."""
        async with anyio.create_task_group() as tasks:
            if self._config.hints:
                tasks.start_soon(self._listen)
            try:
                while True:
                    wanted = await self._sweep()
                    folders = await in_thread(partial(_existing, wanted), deadline_s=30, what="looking at folders")
                    if folders != self._folders:
                        self._folders = folders
                        self._rewatch.set()
                    await self._wait()
            finally:
                self._rewatch.set()  # the listening thread looks at nothing else, and would keep us for seconds

    async def _wait(self) -> None:
        """Until the next sweep is due: quiet after a hint, or the period is over."""
        quiet_for = monotonic() - self._used
        idle = quiet_for > self._config.idle_after_s
        with anyio.move_on_after(self._config.idle_sweep_s if idle else self._config.active_sweep_s) as period:
            await self._hinted.wait()
        if period.cancelled_caught:
            return
        latest = monotonic() + self._config.longest_wait_s
        while monotonic() < latest:
            self._hinted = anyio.Event()
            with anyio.move_on_after(min(self._config.debounce_s, max(0.0, latest - monotonic()))) as quiet:
                await self._hinted.wait()
            if quiet.cancelled_caught:
                break
        self._hinted = anyio.Event()

    async def _listen(self) -> None:
        while True:
            self._rewatch = anyio.Event()
            folders = [folder for folder, _ in self._folders]
            if not folders:
                await self._rewatch.wait()
                continue
            try:
                self.hints = f"events from {len(folders)} folders"
                settled = False
                async for changes in awatch(
                    *folders,
                    watch_filter=_concerns_notes,
                    debounce=400,
                    step=100,
                    recursive=False,
                    stop_event=self._rewatch,
                    rust_timeout=1000,
                    yield_on_timeout=True,
                    ignore_permission_denied=True,
                ):
                    # The first empty round says that the watch stands: look once for what changed before it did.
                    if changes or not settled:
                        self.hint()
                    settled = settled or not changes
            except (OSError, RuntimeError, ValueError) as error:
                # The sweep goes on without hints; a limit may be raised, a folder may come back.
                self.hints = f"no events ({type(error).__name__}: {str(error)[:200]}); sweeping only"
                with anyio.move_on_after(RETRY_S):
                    await self._rewatch.wait()


def _existing(folders: Sequence[Path]) -> list[tuple[Path, int]]:
    """Each folder once, with its inode: a folder that was made anew under its old name must be watched anew."""
    found: dict[Path, int] = {}
    for folder in folders:
        with suppress(OSError):
            facts = folder.stat()
            if stat.S_ISDIR(facts.st_mode):
                found[folder] = facts.st_ino
    return list(found.items())


def _concerns_notes(change: Change, path: str) -> bool:
    """Notes, and whatever comes or goes, since it may be a folder; not our own temporary files, whose names start
    with a dot, nor other files that grow."""
    name = os.path.basename(path)  # noqa: PTH119 -- called for every event
    return not name.startswith(".") and (name.lower().endswith(".md") or change is not Change.modified)
