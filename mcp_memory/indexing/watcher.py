"""Decides when to sweep. The sweep is the truth; file-system events only trigger it sooner.

Each folder is watched by itself, since a recursive watch follows links out of the vault; the sweep says which
folders there are.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic

import anyio
import anyio.from_thread
import anyio.to_thread
from watchfiles import Change, watch  # pyright: ignore[reportUnknownVariableType] -- half typed

from mcp_memory.indexing.config import WatchConfig
from mcp_memory.storage.base import FolderId
from mcp_memory.text.pluralize import counted

RETRY_S = 60.0
"""Where the limit of watches is reached, how long until that is tried again: each try takes all that are left."""

AGAIN_S = 5.0
"""The same where something else is in the way, as a folder that has just gone or a name that is not valid UTF-8."""

STEP_MS = 250
"""How often the watching thread looks whether events came in: each look costs a wake-up, also on an idle machine."""

STANDS_MS = 1000
"""A round without events for so long says that the watch stands."""


UNTOLD_SWEEPS = 2
"""So many sweeps with changes of which no event had told mean that events do not arrive. A single one may have come
just before its event."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The folders to watch, by absolute path, and how many files had changed."""

    folders: Mapping[str, FolderId]
    changed: int


class Watcher:
    """Calls `sweep` when an event came in and things are quiet again, and in any case every so often.

    `sweep` returns None when it failed; the same folders are then watched as before.
    """

    def __init__(self, sweep: Callable[[], Awaitable[SweepResult | None]], config: WatchConfig) -> None:
        self._sweep = sweep
        self._config = config
        self._hinted = anyio.Event()
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
        """Why events do not arrive although they should, as far as that is known."""
        if self._fault is None and self._untold >= UNTOLD_SWEEPS:
            return f"none told of what {self._untold} sweeps found changed"
        return self._fault

    @property
    def events(self) -> str:
        """Whether events arrive, and from where."""
        return f"no events ({self.fault})" if self.fault else self._listens

    @property
    def state(self) -> str:
        """How changes are noticed, for `status`."""
        return f"{self.events}; a sweep every {self.period_s:g} s"

    @property
    def period_s(self) -> float:
        """How long after a sweep the next one comes, whatever happens. Nobody may call, yet without events only a
        sweep notices anything."""
        is_idle = monotonic() - self._used > self._config.idle_after_s
        hears = self._stands and self.fault is None
        return self._config.idle_sweep_s if is_idle and hears else self._config.active_sweep_s

    def touch(self) -> None:
        """A client called: sweep at the faster rate for a while."""
        self._used = monotonic()

    def hint(self) -> None:
        """Something changed: sweep when it is quiet."""
        self._hinted.set()

    def hurry(self) -> None:
        """Answers are poor until the next sweep: it must not wait for quiet."""
        self._hurried = True
        self._hinted.set()

    async def run(self) -> None:
        """Sweep for ever, the first time at once."""
        async with anyio.create_task_group() as tasks:
            if self._config.hints:
                tasks.start_soon(self._listen)
            try:
                hinted = True
                while True:
                    swept = await self._sweep()
                    if swept:
                        self._compare(swept, hinted=hinted)
                    hinted = await self._wait()
            finally:
                self._rewatch.set()  # the watching thread looks at nothing else, and would keep us for ever

    def _compare(self, swept: SweepResult, *, hinted: bool) -> None:
        """What the sweep saw with what we watch."""
        is_other = swept.folders != self._folders  # then no event could tell
        is_untold = self._stands and swept.changed > 0 and not hinted and not is_other
        self._untold += is_untold
        if is_other or (is_untold and self._untold == UNTOLD_SWEEPS):
            self._folders, self._stands = swept.folders, False
            self._rewatch.set()

    async def _wait(self) -> bool:
        """Until the next sweep is due: quiet after a hint (True), or the period is over."""
        with anyio.move_on_after(self.period_s) as period:
            await self._hinted.wait()
        if period.cancelled_caught:
            return False
        latest = monotonic() + self._config.longest_wait_s
        while monotonic() < latest and not self._hurried:
            self._hinted = anyio.Event()
            with anyio.move_on_after(min(self._config.debounce_s, max(0.0, latest - monotonic()))) as quiet:
                await self._hinted.wait()
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
                # All that the library says of the limit is a text.
                with anyio.move_on_after(RETRY_S if "limit" in fault else AGAIN_S):
                    await rewatch.wait()
            else:
                await rewatch.wait()

    def _hear(self, folders: Sequence[str], stop: anyio.Event) -> str:
        """Turns events into hints until `stop`; returns what ended it else. Runs in a thread of its own: to set up
        thousands of watches takes a while, and on a dead network share for ever."""
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
                ignore_permission_denied=False,  # else it also hides that the limit is reached
            ):
                if not stands and not changes:
                    stands = True
                    anyio.from_thread.run_sync(self._now_stands, len(there), len(folders))
                elif changes:
                    lost = any(path in there for _, path in changes)
                    anyio.from_thread.run_sync(partial(self._heard, lost=lost))
        except BaseException as error:  # a library in Rust may panic, which is no Exception; there are the sweeps
            if stands:
                anyio.from_thread.run_sync(self.hint)  # the event that ended it may have been a note's
            return f"{type(error).__name__}: {str(error)[:200]}"
        return "the watch ended"

    def _now_stands(self, watched: int, folders: int) -> None:
        self._stands, self._fault = True, None
        of = "" if watched == folders else f"{watched} of "
        self._listens = f"events from {of}{counted(folders, 'folder')}"
        self.hint()  # what changed before it stood

    def _heard(self, *, lost: bool) -> None:
        """`lost`: a watched folder came or went. It may have been made anew, even under its old inode number, and is
        then not watched any more: take none for watched."""
        if lost:
            self._folders = {}
        self._untold = 0
        self.hint()


def _concerns_notes(change: Change, path: str) -> bool:
    """Notes, and whatever comes or goes, since it may be a folder; not our own temporary files, whose names start
    with a dot, nor other files that grow."""
    name = os.path.basename(path)  # noqa: PTH119 -- called for every event
    return not name.startswith(".") and (name.lower().endswith(".md") or change is not Change.modified)
