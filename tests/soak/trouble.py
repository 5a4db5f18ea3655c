"""What goes wrong on purpose, and when."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tests.soak.daemon import Daemon
from tests.soak.disk import Disk
from tests.soak.line import Failed, Line, Unanswered

KILL, STOP, REINDEX, FULL = "kill", "stop", "reindex", "full disk"
TROUBLED_SHARE = 0.6
"""Of the time. The rest is one life of the daemon, long enough to see whether its memory grows."""
FULL_S = 10.0
REINDEX_S = 900.0
"""Ten thousand notes under load."""


@dataclass(frozen=True)
class Event:
    """`at_s`: seconds after the start."""

    at_s: float
    what: str


def planned(seconds: float, chance: random.Random, *, full_disk: bool) -> list[Event]:
    """Each kind at least once, some three minutes apart, closer together in a short soak."""
    kinds = [KILL, REINDEX, STOP, *([FULL] if full_disk else [])]
    pause_s = min(180.0, seconds * TROUBLED_SHARE / len(kinds))
    count = max(len(kinds), int(seconds * TROUBLED_SHARE / pause_s))
    return [Event(pause_s * (n + chance.uniform(0.2, 0.8)), kinds[n % len(kinds)]) for n in range(count)]


class Trouble:
    """Carries out a plan. A reindex goes on beside the other troubles, as it would."""

    def __init__(
        self, plan: list[Event], daemon: Daemon, disk: Disk | None, line: Line, say: Callable[[str], None]
    ) -> None:
        self._plan = plan
        self._daemon = daemon
        self._disk = disk
        self._line = line
        self._say = say
        self._now = ""
        self._reindexing = False
        self._full_until_s = 0.0
        self.made: Counter[str] = Counter()
        self.starts_s: list[float] = []
        self.stops_s: list[float] = []
        self.faults: list[str] = []

    @property
    def now(self) -> str:
        """The kind of the trouble that is going on, or empty."""
        return self._now or (REINDEX if self._reindexing else "")

    async def run(self) -> None:
        began = time.monotonic()
        async with asyncio.TaskGroup() as beside:
            for event in self._plan:
                await asyncio.sleep(max(0.0, began + event.at_s - time.monotonic()))
                self._say(f"{time.monotonic() - began:6.0f} s  {event.what}")
                self.made[event.what] += 1
                if event.what == REINDEX:
                    beside.create_task(self._reindex())
                    continue
                self._now = event.what
                try:
                    await self._make(event.what)
                except RuntimeError as error:
                    self.faults.append(f"after {event.what} no start: {error}")
                    return
                self._now = ""

    def excuses(self, call: str, code: str, began_s: float) -> bool:
        """On a full disk writing is refused; reading never. `began_s` is the call's, on the monotonic clock."""
        return (
            began_s < self._full_until_s
            and call in {"memory_append", "memory_forget"}
            and code in {"storage_failed", "index_unavailable"}
        )

    async def _reindex(self) -> None:
        life, began_s = self._daemon.lives, time.monotonic()
        self._reindexing = True
        try:
            await self._line.api("reindex", within_s=REINDEX_S)
        except (Unanswered, Failed) as error:
            if self._daemon.is_up and self._daemon.lives == life and began_s >= self._full_until_s:
                self.faults.append(f"reindex: {error}")
        finally:
            self._reindexing = False

    async def _make(self, what: str) -> None:
        if what == KILL:
            self._daemon.kill()
            await asyncio.sleep(0.5)
            self.starts_s.append(await self._daemon.start())
        elif what == STOP:
            code, took_s = await self._daemon.stop()
            self.stops_s.append(took_s)
            if code != 0 or took_s > 10:
                self.faults.append(f"stopped with exit code {code} after {took_s:.1f} s")
            self.starts_s.append(await self._daemon.start())
        elif self._disk:
            self._full_until_s = math.inf
            self._disk.fill()
            try:
                await asyncio.sleep(FULL_S)
            finally:
                self._disk.free()
                self._full_until_s = time.monotonic()
