"""Decide when to sweep; file-system events only make the next sweep come sooner.

Each folder is watched separately, since a recursive watch follows links out of the vault. The sweep finds the folders.
"""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import NamedTuple

import anyio
import anyio.from_thread
import anyio.to_thread
from watchfiles import Change, watch  # pyright: ignore[reportUnknownVariableType] -- half typed

from mcp_memory.indexing.config import WatchConfig
from mcp_memory.storage.base import FolderId
from mcp_memory.text.pluralize import counted

RETRY_S = 60.0
"""The delay after reaching the limit of watches; each try uses up all that are left."""

AGAIN_S = 5.0
"""The delay after another failure, such as a folder that has just gone or a name that is not valid UTF-8."""

STEP_MS = 250
"""The milliseconds between checks for events; each check costs a wake-up, even on an idle machine."""

STANDS_MS = 1000
"""The milliseconds without events after which the watch counts as set up."""

UNTOLD_SWEEPS = 2
"""The number of sweeps that found changes without an event after which events are taken not to arrive. A single sweep
may just have been earlier than its event."""


class SweepResult(NamedTuple):
    """The folders to watch, by absolute path, and how many files had changed."""

    folders: Mapping[str, FolderId]
    changed: int


class Watcher:
    """The caller of `sweep` when it is quiet after an event, and regularly without any.

    `sweep` returns None if it failed; the watched folders then stay the same."""

    def __init__(self, sweep: Callable[[], Awaitable[SweepResult | None]], config: WatchConfig) -> None:
        self._sweep = sweep
        self._config = config
        self._hinted = anyio.Event()
        self._stirred = anyio.Event()
        """Set by what starts the wait for quiet anew. A search that finds the index behind doesn't: whoever asks again
        and again would put off the sweep."""
        self._hurried = False
        self._rewatch = anyio.Event()
        self._folders: Mapping[str, FolderId] = {}
        self._used = monotonic()
        self._listens = "starting" if config.hints else "off"
        self._stands = False
        self._fault: str | None = None
        self._untold = 0

    @property
    def fault(self) -> str | None:
        """The reason why events don't arrive, if it is known."""
        if self._fault is None and self._untold >= UNTOLD_SWEEPS:
            return f"none told of what {self._untold} sweeps found changed"
        return self._fault

    @property
    def events(self) -> str:
        """Describe whether events arrive, and from where."""
        return f"no events ({self.fault})" if self.fault else self._listens

    @property
    def state(self) -> str:
        """Describe how changes are noticed, for `status`."""
        return f"{self.events}; a sweep every {self.period_s:g} s"

    @property
    def period_s(self) -> float:
        """The longest time between two sweeps. It stays short on an idle machine if no events arrive."""
        is_idle = monotonic() - self._used > self._config.idle_after_s
        hears = self._stands and self.fault is None
        return self._config.idle_sweep_s if is_idle and hears else self._config.active_sweep_s

    def touch(self) -> None:
        """Sweep at the faster rate for a while, since a client called."""
        self._used = monotonic()

    def hint(self) -> None:
        """Request a sweep for a change, once no further events arrive."""
        self._hinted.set()

    def hurry(self) -> None:
        """Sweep soon, without waiting for quiet."""
        self._hurried = True
        self._hinted.set()
        self._stirred.set()

    async def run(self) -> None:
        """Sweep forever, the first time at once."""
        async with anyio.create_task_group() as tasks:
            if self._config.hints:
                tasks.start_soon(self._listen)
            try:
                hinted = True
                while True:
                    if swept := await self._sweep():
                        is_other = swept.folders != self._folders  # then no event could come
                        is_untold = self._stands and swept.changed > 0 and not hinted and not is_other
                        self._untold += is_untold
                        if is_other or (is_untold and self._untold == UNTOLD_SWEEPS):
                            self._folders, self._stands = swept.folders, False
                            self._rewatch.set()
                    hinted = await self._wait()
            finally:
                self._rewatch.set()  # the only thing that ends the watching thread

    async def _wait(self) -> bool:
        """Wait until the next sweep is due; True if a hint made it due."""
        with anyio.move_on_after(self.period_s) as period:
            await self._hinted.wait()
        if period.cancelled_caught:
            return False
        latest = monotonic() + self._config.longest_wait_s
        while monotonic() < latest and not self._hurried:
            self._stirred = anyio.Event()
            with anyio.move_on_after(min(self._config.debounce_s, max(0.0, latest - monotonic()))) as quiet:
                await self._stirred.wait()
            if quiet.cancelled_caught:
                break
        self._hinted, self._hurried = anyio.Event(), False
        return True

    async def _listen(self) -> None:
        while True:
            self._rewatch = rewatch = anyio.Event()
            if self._folders:
                fault = await anyio.to_thread.run_sync(self._hear, tuple(self._folders), rewatch)
                if rewatch.is_set():
                    continue
                self._stands, self._fault = False, fault
                # The library reports the limit only by its message.
                with anyio.move_on_after(RETRY_S if "limit" in fault else AGAIN_S):
                    await rewatch.wait()
            else:
                await rewatch.wait()

    def _hear(self, folders: Sequence[str], stop: anyio.Event) -> str:
        """Turn events into hints until `stop`; return what else ended the watch. Runs in its own thread, because
        setting up thousands of watches takes a while, and on a dead network share forever."""
        stands = False
        try:
            there = {folder for folder in folders if os.path.isdir(folder)}  # noqa: PTH112 -- raises nothing
            for changes in watch(
                *there,
                watch_filter=_concerns_notes,
                debounce=400,
                step=STEP_MS,
                recursive=False,
                stop_event=stop,
                rust_timeout=STANDS_MS,
                yield_on_timeout=True,
                ignore_permission_denied=False,  # it would also hide that the limit is reached
            ):
                if not stands and not changes:
                    stands = True
                    anyio.from_thread.run_sync(self._now_stands, len(there), len(folders))
                elif changes:
                    lost = any(path in there for _, path in changes)
                    anyio.from_thread.run_sync(partial(self._heard, lost=lost))
        except BaseException as error:  # a panic in the Rust library isn't an Exception
            if stands:
                anyio.from_thread.run_sync(self.hint)  # the event that ended it may concern a note
            return f"{type(error).__name__}: {str(error)[:200]}"
        return "the watch ended"

    def _now_stands(self, watched: int, folders: int) -> None:
        self._stands, self._fault = True, None
        of = "" if watched == folders else f"{watched} of "
        self._listens = f"events from {of}{counted(folders, 'folder')}"
        self.hint()  # for changes before the watch was set up

    def _heard(self, *, lost: bool) -> None:
        """Note an event. `lost`: a watched folder came or went. A folder that was deleted and made again, even with its
        old inode number, is no longer watched, so all folders are watched again."""
        if lost:
            self._folders = {}
        self._untold = 0
        self._stirred.set()
        self.hint()


def _concerns_notes(change: Change, path: str) -> bool:
    """Return whether an event concerns notes. True for notes and for anything that comes or goes, since it may be a
    folder. False for our temporary files, whose names start with a dot, and for other files that change."""
    name = os.path.basename(path)  # noqa: PTH119 -- called for every event
    return not name.startswith(".") and (name.lower().endswith(".md") or change is not Change.modified)
