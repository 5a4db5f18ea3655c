"""The taker: takes transcripts step after step, one at a time, whoever asks for it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from mcp_memory.capture.checkpoint import Bookmark, Bookmarks
from mcp_memory.capture.config import CaptureConfig
from mcp_memory.capture.readers.context import Context
from mcp_memory.capture.readers.message import Message
from mcp_memory.capture.step import Step, standing, step_of
from mcp_memory.capture.tail import Waiting, news, sessions, waiting
from mcp_memory.capture.transcript_paths import Place, Places
from mcp_memory.capture.transcript_store import LeafShelf
from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.models import TRANSCRIPTS
from mcp_memory.runtime.project import project_of
from mcp_memory.runtime.threads import in_thread, place_of


@dataclass(frozen=True, slots=True)
class Heard:
    """New messages of a session, in their order, without secrets. `file` is the transcript's name, see `Place.name`."""

    file: str
    client: str
    session: str
    project: str | None
    messages: Sequence[Message]


Hear = Callable[[Heard], Awaitable[object]]
"""After a crash the same messages may come once more. What it raises is tried again with the same messages."""

MOST_TRIES = 3
"""So often the hearer may fail on the same messages; then it goes on without."""

STEP_S = 60.0

MOST_THREADS = 4
"""For the steps of captures, those that overran their deadline included: no transcript takes the threads of others."""

log = logging.getLogger(__name__)


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


class Taker:
    def __init__(
        self,
        state: Path,
        config: CaptureConfig,
        zone: tzinfo,
        clock: Callable[[], datetime],
        written: Callable[[], None],
        hear: Hear | None,
    ) -> None:
        """What it keeps is in the folder `state`. `written` is called when there are other leaves than before."""
        self.places = Places(config.folders)
        self.shelf = LeafShelf(state / TRANSCRIPTS, keep_days=config.keep_days, keep_bytes=config.keep_bytes)
        self.bookmarks = Bookmarks(state / "bookmarks")
        self._config = config
        self._zone = zone
        self._clock = clock
        self._written = written
        self._hear = hear
        self._taking = anyio.Lock()
        self._threads = anyio.CapacityLimiter(MOST_THREADS)
        self._deaf: dict[Place, int] = {}
        self.last: str | None = None
        """When something was captured, ISO 8601."""

    async def take(self, place: Place, *, delegated: bool = False) -> Taken:
        """The next stretch of a transcript, with all that belongs to it: leaves, then the hearer, then the bookmark.
        `delegated`: another agent runs the session; once said, that is remembered.
        Raises NotFound, Refused, StorageFailed, and what the hearer raises."""

        def read() -> tuple[Step, Taken]:
            before = standing(place, self.bookmarks.of(place.client, place.name), self.shelf.has)
            before.context.delegated = before.context.delegated or delegated
            step = self._step(place, before)
            return step, self._taken(place, before, step, self.shelf.put(step.pages))

        async with self._taking:
            step, taken = await in_thread(read, deadline_s=STEP_S, what="reading a transcript", limiter=self._threads)
            if step.messages and self._hear:
                await self._tell(self._hear, place, step)
            await in_thread(
                lambda: self.bookmarks.move(step.bookmark, step.digests), deadline_s=STEP_S, what="moving a bookmark"
            )
        if taken.leaves:
            self._written()
        if step.messages:
            self.last = step.bookmark.captured_at
        return taken

    async def would_take(self, place: Place) -> Taken:
        """All that is new, without any trace of it. Raises as `take`, but for the hearer."""
        bookmark = await in_thread(lambda: self.bookmarks.of(place.client, place.name), what="reading a bookmark")
        total: Taken | None = None
        while total is None or not total.at_end:
            step = await in_thread(
                partial(self._step, place, bookmark),
                deadline_s=STEP_S,
                what="reading a transcript",
                limiter=self._threads,
            )
            now = self._taken(place, bookmark, step, len(step.pages))
            total = now if total is None else total.then(now)
            bookmark = step.bookmark
        return total

    def waiting(self, place: Place, least_messages: int, size: int = -1) -> tuple[Waiting, bool]:
        """What is new, and whether that is so many messages; they are counted only where the size is another one than
        `size`. For a worker thread. Raises NotFound, Refused, StorageFailed."""
        bookmark = self.bookmarks.of(place.client, place.name)
        found = waiting(self.places, place, bookmark)
        if not found.new_bytes or found.size == size:
            return found, False
        return found, len(self._step(place, bookmark).messages) >= least_messages

    def keep(self, place: Place, *, delegated: bool = False) -> None:
        """Remember durably that there is this transcript. For a worker thread. Raises StorageFailed."""
        self.bookmarks.keep(Bookmark(place.client, place.name, context=Context(delegated=delegated)))

    def unfinished(self) -> list[Place]:
        """The transcripts that have grown since they were captured. For a worker thread."""
        bookmarks = self.bookmarks.every()
        self.last = max((each.captured_at for each in bookmarks if each.captured_at), default=None)
        found: list[Place] = []
        for bookmark in bookmarks:
            try:
                place = self.places.place(bookmark.client, bookmark.name)
                is_new = waiting(self.places, place, bookmark).new_bytes > 0
            except McpMemoryError:  # it is gone, or its client's folder is another one now
                continue
            found += [place] if is_new else []
        return found

    async def prune(self) -> None:
        """Takes out what is too old. Raises StorageFailed."""
        async with self._taking:
            gone = await in_thread(self._prune, what="pruning transcripts")
        if gone:
            self._written()

    async def found(self, client: str | None = None) -> list[Place]:
        """Every transcript in the clients' folders, or in one client's, the latest last. Raises InvalidInput."""

        def look() -> list[Place]:
            clients = [client] if client else list(self.places.clients)
            every = [place for name in clients for place in self.places.every(name)]
            return [each for place in every for each in sessions(self.places, place)]

        return await in_thread(look, deadline_s=STEP_S, what="looking for transcripts")

    async def named(self, file: str, client: str | None = None) -> list[Place]:
        """The transcripts that a file holds, and those of its sub-agents. Raises InvalidInput, NotFound, Refused."""

        def look() -> list[Place]:
            place = self.places.place(client or self.places.client_of(file), file)
            with self.places.opened(place):
                pass
            return [*sessions(self.places, place), *self.places.beside(place)]

        return await in_thread(look, deadline_s=STEP_S, what="looking at a transcript")

    # -- below -------------------------------------------------------------------------------------------------

    def _step(self, place: Place, bookmark: Bookmark) -> Step:
        new = news(self.places, place, bookmark)
        seen = self.bookmarks.seen(bookmark) if new.restarted or bookmark.restarts else frozenset[bytes]()
        return step_of(
            place, new, bookmark, seen, zone=self._zone, now=self._clock(), tool_output=self._config.tool_output
        )

    async def _tell(self, hear: Hear, place: Place, step: Step) -> None:
        try:
            session, project = step.session or place.inner.stem, project_of(step.bookmark.context.folder)
            await hear(Heard(place.name, place.client, session, project, step.messages))
        except Exception as error:
            self._deaf[place] = self._deaf.get(place, 0) + 1
            if self._deaf[place] < MOST_TRIES:
                raise
            log.error("capture: %d messages are heard by nobody: %s", len(step.messages), place_of(error))
        self._deaf.pop(place, None)

    def _taken(self, place: Place, before: Bookmark, step: Step, leaves: int) -> Taken:
        size = waiting(self.places, place, step.bookmark).size
        unreadable = step.bookmark.unreadable - before.unreadable
        return Taken(
            place, step.session, step.bookmark.offset, size, len(step.messages), leaves, step.secrets, unreadable,
            step.at_end,
        )  # fmt: skip

    def _prune(self) -> int:
        """Bookmarks keep no word longer than leaves do."""
        gone = self.shelf.prune()
        for bookmark in self.bookmarks.every():
            try:
                place = self.places.place(bookmark.client, bookmark.name)
            except McpMemoryError:  # its client's folder is another one now
                continue
            kept = standing(place, bookmark, self.shelf.has)
            if self._is_gone(place) and not any(segment.spoken for segment in kept.threads.values()):
                self.bookmarks.drop(bookmark)
            elif kept != bookmark:
                self.bookmarks.move(kept, ())
        return gone

    def _is_gone(self, place: Place) -> bool:
        try:
            with self.places.opened(place):
                return False
        except McpMemoryError as error:
            return isinstance(error, NotFound)
