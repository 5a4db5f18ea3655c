"""The capturer: hears from hooks which transcripts have grown, and captures them behind everybody's back."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import anyio

from mcp_memory.engine.capture.bookmark import Bookmark, Bookmarks
from mcp_memory.engine.capture.config import SOURCE, CaptureConfig
from mcp_memory.engine.capture.places import Place, Places
from mcp_memory.engine.capture.shelf import LeafShelf
from mcp_memory.engine.capture.source import news, sessions, waiting
from mcp_memory.engine.capture.step import Step, standing, step_of
from mcp_memory.engine.health import Health
from mcp_memory.engine.threads import in_thread, place_of
from mcp_memory.engine.traffic import Traffic
from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.models import Problem
from mcp_memory.transcripts.message import Message

Hear = Callable[[Path, str, str, Sequence[Message]], Awaitable[None]]
"""Is told the file, the client, the session and its new messages, in their order, without secrets. After a crash the
same messages may come once more. What it raises is tried again with the same messages."""

LOOK_S = 20.0
"""How often a transcript that grows is looked at while its turn goes on."""

FOLLOWED_S = 86_400.0
"""A transcript that has not grown for so long is not looked at any more until a hook names it."""

PRUNE_S = 3600.0
MOST_FOLLOWED = 200
MOST_TRIES = 3
"""So often the hearer may fail on the same messages; then it goes on without."""

BY_HAND_S = 2.0
"""So long a person waits for a word of progress."""

STEP_S = 60.0
LULL_S, MOST_LULL_S = 0.2, 3.0

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Followed:
    """A transcript that a hook has named. `due`: to be captured however little is new. Times are monotonic."""

    due: bool
    heard_at: float
    size: int = -1
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Taken:
    """One step: `offset` is where it ended, of `size`."""

    place: Place
    session: str
    offset: int
    size: int
    messages: int
    leaves: int
    secrets: int
    unreadable: int
    at_end: bool

    def then(self, more: Taken) -> Taken:
        """Both together."""
        sums = {name: getattr(self, name) + getattr(more, name) for name in _COUNTED}
        return replace(more, **sums)

    def payload(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__slots__ if name != "place"}
        return {"file": self.place.name, "client": self.place.client, **plain}


_COUNTED = ("messages", "leaves", "secrets", "unreadable")


class Capturer:
    """One task of the engine; whatever reads a transcript waits for its turn."""

    def __init__(
        self,
        config: CaptureConfig,
        places: Places,
        bookmarks: Bookmarks,
        shelf: LeafShelf,
        zone: tzinfo,
        clock: Callable[[], datetime],
        traffic: Traffic,
        health: Health,
        written: Callable[[], None],
        hear: Hear | None = None,
        look_s: float = LOOK_S,
    ) -> None:
        """`written` is called when there are new leaves to be indexed."""
        self._config = config
        self._places = places
        self._bookmarks = bookmarks
        self._shelf = shelf
        self._zone = zone
        self._clock = clock
        self._traffic = traffic
        self._health = health
        self._written = written
        self._hear = hear
        self._look_s = look_s
        self._followed: dict[Place, Followed] = {}
        self._woken = anyio.Event()
        self._reading = anyio.Lock()
        self._problems: dict[str, Problem] = {}
        self._last: str | None = None
        self._deaf: dict[Place, int] = {}
        self._pruned_at: float | None = None

    @classmethod
    def at(
        cls,
        state: Path,
        config: CaptureConfig,
        zone: tzinfo,
        clock: Callable[[], datetime],
        traffic: Traffic,
        health: Health,
        written: Callable[[], None],
        hear: Hear | None = None,
        look_s: float = LOOK_S,
    ) -> Capturer:
        """With all that it keeps in the folder `state`."""
        shelf = LeafShelf(state / SOURCE, keep_days=config.keep_days, keep_bytes=config.keep_bytes)
        bookmarks = Bookmarks(state / "bookmarks")
        return cls(
            config, Places(config.folders), bookmarks, shelf, zone, clock, traffic, health, written, hear, look_s
        )

    # -- what hooks say ----------------------------------------------------------------------------------------

    def note(self, client: str, file: str, *, due: bool) -> Place | None:
        """A transcript has grown, or will. Touches no disk, and never fails: somebody's hook waits. None where it is
        not captured: capture is off, or it is none that we know; then `problems` says so."""
        if not self._config.enabled or client not in self._places.clients:
            return None
        try:
            place = self._places.place(client, file)
        except McpMemoryError as error:
            self._problem(file, error.message)
            return None
        known = self._followed.pop(place, None) or Followed(due, 0.0)
        known.due, known.heard_at = known.due or due, monotonic()
        self._followed[place] = known  # the one that was heard of last comes last
        while len(self._followed) > MOST_FOLLOWED:
            self._followed.pop(next(iter(self._followed)))
        if due:
            self._woken.set()
        return place

    async def keep(self, client: str, file: str) -> None:
        """As `note`, of what is due; it will be captured also where this process ends at once. Raises StorageFailed."""
        if place := self.note(client, file, due=True):
            if place.is_database and not place.session:
                return
            bookmark = Bookmark(place.client, place.name)
            await in_thread(lambda: self._bookmarks.keep(bookmark), deadline_s=5, what="keeping a bookmark")

    # -- what a person asks ------------------------------------------------------------------------------------

    async def by_hand(self, names: Sequence[str], *, dry_run: bool) -> list[dict[str, Any]]:
        """A report on each transcript that there was time for: what was taken, or why nothing could be."""
        until, reports = monotonic() + BY_HAND_S, list[dict[str, Any]]()
        for name in names:
            if reports and monotonic() > until:
                break
            try:
                place = self._places.place(self._places.client_of(name), name)
                taken = await (self.would_take(place) if dry_run else self.take(place))
                while not taken.at_end and monotonic() < until:
                    taken = taken.then(await self.take(place))
                reports.append(taken.payload())
            except McpMemoryError as error:
                reports.append({"file": name, "error": error.message, "at_end": True})
        return reports

    async def found(self, client: str | None = None) -> list[Place]:
        """Every transcript in the clients' folders, or in one client's, the latest last. Raises InvalidInput."""

        def look() -> list[Place]:
            clients = [client] if client else list(self._places.clients)
            return [
                each
                for name in clients
                for place in self._places.every(name)
                for each in sessions(self._places, place)
            ]  # fmt: skip

        return await in_thread(look, deadline_s=STEP_S, what="looking for transcripts")

    async def named(self, file: str, client: str | None = None) -> list[Place]:
        """The transcripts that a file holds, and those of its sub-agents. Raises InvalidInput, NotFound, Refused."""

        def look() -> list[Place]:
            place = self._places.place(client or self._places.client_of(file), file)
            with self._places.opened(place):
                pass
            return [*sessions(self._places, place), *self._places.beside(place)]

        return await in_thread(look, deadline_s=STEP_S, what="looking at a transcript")

    def status(self) -> dict[str, Any]:
        """Facts for `status`. `last`: when something was captured, ISO 8601."""
        return {
            "enabled": self._config.enabled,
            "last": self._last,
            "following": len(self._followed),
            "folder": str(self._shelf.folder),
            "problems": len(self._problems),
        }

    @property
    def problems(self) -> Sequence[Problem]:
        """Transcripts that could not be read, and why."""
        return list(self._problems.values())

    # -- the task ----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """For ever. What went on while nobody was here comes first."""
        if not self._config.enabled:
            return
        with self._health.watching("capture"):
            bookmarks = await in_thread(self._bookmarks.every, what="reading bookmarks")
            self._last = max((each.captured_at for each in bookmarks if each.captured_at), default=None)
            for bookmark in bookmarks:
                await self._resume(bookmark)
        while True:
            self._woken = anyio.Event()
            with self._health.watching("capture"):
                await self._look()
                await self._tidy()
            with anyio.move_on_after(self._look_s):
                await self._woken.wait()

    async def _resume(self, bookmark: Bookmark) -> None:
        try:
            place = self._places.place(bookmark.client, bookmark.name)
            new = await in_thread(partial(waiting, self._places, place, bookmark), what="looking at a transcript")
        except McpMemoryError:  # it is gone, or its client's folder is another one now
            return
        if new.new_bytes or not bookmark.offset:
            self.note(bookmark.client, bookmark.name, due=True)

    async def _look(self) -> None:
        for place, followed in list(self._followed.items()):
            if not followed.due and monotonic() - followed.heard_at > FOLLOWED_S:
                self._followed.pop(place, None)
                continue
            was_due, followed.due = followed.due, False
            for each in [place, *await in_thread(partial(self._places.beside, place), what="looking for sub-agents")]:
                await self._attempt(each, followed if each == place else Followed(was_due, monotonic()), due=was_due)

    async def _attempt(self, place: Place, followed: Followed, *, due: bool) -> None:
        try:
            for each in await in_thread(partial(sessions, self._places, place), what="looking at sessions"):
                if due or await self._is_worth_it(each, followed):
                    await self._whole(each)
        except NotFound:  # the client has not begun to write it, or has taken it away
            return
        except McpMemoryError as error:
            self._problem(place.name, error.message)
            followed.failures += 1
            followed.due = due and followed.failures < MOST_TRIES
        except Exception as error:  # a fault of ours: it is said, and the other transcripts go on
            self._problem(place.name, f"{type(error).__name__} in the capture")
            log.error("capture: %s", place_of(error))
        else:
            followed.failures = 0
            self._problems.pop(place.name, None)

    async def _is_worth_it(self, place: Place, followed: Followed) -> bool:
        """Whether so much is new that it should not wait for the end of the turn."""

        def look() -> bool:
            bookmark = self._bookmarks.of(place.client, place.name)
            found = waiting(self._places, place, bookmark)
            if found.new_bytes >= self._config.least_bytes:
                return True
            if not found.new_bytes or found.size == followed.size:
                return False
            followed.size = found.size
            return len(self._step(place, bookmark).messages) >= self._config.least_messages

        return await in_thread(look, deadline_s=STEP_S, what="looking at a transcript")

    async def _whole(self, place: Place) -> None:
        """To its end; whoever is being served comes first."""
        while True:
            await self._traffic.lull(quiet_s=LULL_S, at_most_s=MOST_LULL_S)
            if (await self.take(place)).at_end:
                return

    async def _tidy(self) -> None:
        if self._pruned_at is None or monotonic() - self._pruned_at > PRUNE_S:
            self._pruned_at = monotonic()
            async with self._reading:
                gone = await in_thread(self._prune, what="pruning transcripts")
            if gone:
                self._written()

    def _prune(self) -> int:
        """Bookmarks keep no word longer than leaves do."""
        gone = self._shelf.prune()
        for bookmark in self._bookmarks.every():
            try:
                place = self._places.place(bookmark.client, bookmark.name)
            except McpMemoryError:  # its client's folder is another one now
                continue
            kept = standing(place, bookmark, self._shelf.has)
            if self._is_gone(place) and not any(segment.spoken for segment in kept.threads.values()):
                self._bookmarks.drop(bookmark)
            elif kept != bookmark:
                self._bookmarks.move(kept, ())
        return gone

    def _is_gone(self, place: Place) -> bool:
        try:
            with self._places.opened(place):
                return False
        except McpMemoryError as error:
            return isinstance(error, NotFound)

    # -- a step ------------------------------------------------------------------------------------------------

    async def take(self, place: Place) -> Taken:
        """The next stretch of a transcript, with all that belongs to it: leaves, then the hearer, then the bookmark.
        Raises NotFound, Refused, StorageFailed, and what the hearer raises."""

        def read() -> tuple[Step, Taken]:
            before = standing(place, self._bookmarks.of(place.client, place.name), self._shelf.has)
            step = self._step(place, before)
            return step, self._taken(place, before, step, self._shelf.put(step.pages))

        async with self._reading:
            step, taken = await in_thread(read, deadline_s=STEP_S, what="reading a transcript")
            if step.messages and self._hear:
                await self._tell(self._hear, place, step)
            await in_thread(
                lambda: self._bookmarks.move(step.bookmark, step.digests), deadline_s=STEP_S, what="moving a bookmark"
            )
        if taken.leaves:
            self._written()
        if step.messages:
            self._last = step.bookmark.captured_at
        return taken

    async def would_take(self, place: Place) -> Taken:
        """All that is new, without any trace of it. Raises as `take`, but for the hearer."""
        bookmark = await in_thread(lambda: self._bookmarks.of(place.client, place.name), what="reading a bookmark")
        total: Taken | None = None
        while total is None or not total.at_end:
            step = await in_thread(partial(self._step, place, bookmark), deadline_s=STEP_S, what="reading a transcript")
            now = self._taken(place, bookmark, step, len(step.pages))
            total = now if total is None else total.then(now)
            bookmark = step.bookmark
        return total

    async def _tell(self, hear: Hear, place: Place, step: Step) -> None:
        try:
            await hear(place.file, place.client, step.session or place.inner.stem, step.messages)
        except Exception as error:
            self._deaf[place] = self._deaf.get(place, 0) + 1
            if self._deaf[place] < MOST_TRIES:
                raise
            log.error("capture: %d messages are not gleaned: %s", len(step.messages), place_of(error))
        self._deaf.pop(place, None)

    def _taken(self, place: Place, before: Bookmark, step: Step, leaves: int) -> Taken:
        size = waiting(self._places, place, step.bookmark).size
        unreadable = step.bookmark.unreadable - before.unreadable
        return Taken(
            place, step.session, step.bookmark.offset, size, len(step.messages), leaves, step.secrets, unreadable,
            step.at_end,
        )  # fmt: skip

    def _step(self, place: Place, bookmark: Bookmark) -> Step:
        new = news(self._places, place, bookmark)
        seen = self._bookmarks.seen(bookmark) if new.restarted or bookmark.restarts else frozenset[bytes]()
        return step_of(
            place, new, bookmark, seen, zone=self._zone, now=self._clock(), tool_output=self._config.tool_output
        )

    def _problem(self, name: str, reason: str) -> None:
        self._problems.pop(name, None)
        self._problems[name] = Problem(name[:200], reason)
        while len(self._problems) > MOST_FOLLOWED:
            self._problems.pop(next(iter(self._problems)))
