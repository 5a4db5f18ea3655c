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

from mcp_memory.capture.checkpoint import Checkpoint, Checkpoints
from mcp_memory.capture.config import CaptureConfig
from mcp_memory.capture.readers.context import ReaderContext
from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.capture.step import CaptureStep, step_of, without_removed
from mcp_memory.capture.tail import Unread, read_new, sessions, waiting
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.capture.transcript_store import TranscriptStore
from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.models import TRANSCRIPTS
from mcp_memory.runtime.project import project_of
from mcp_memory.runtime.threads import in_thread, place_of


@dataclass(frozen=True, slots=True)
class CapturedMessages:
    """New messages of a session, in their order, without secrets. `file` is the transcript's name, see `Place.name`."""

    file: str
    client: str
    session: str
    project: str | None
    messages: Sequence[TranscriptMessage]


Hear = Callable[[CapturedMessages], Awaitable[object]]
"""After a crash the same messages may come once more. What it raises is tried again with the same messages."""

MOST_TRIES = 3
"""So often the hearer may fail on the same messages; then it goes on without."""

STEP_S = 60.0

MOST_THREADS = 4
"""For the steps of captures, those that overran their deadline included: no transcript takes the threads of others."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CaptureResult:
    """One step: `offset` is where it ended, of `size`."""

    place: TranscriptPath
    session: str
    offset: int
    size: int
    messages: int
    leaves: int
    secrets: int
    unreadable: int
    at_end: bool

    def then(self, more: CaptureResult) -> CaptureResult:
        """Both together."""
        sums = {name: getattr(self, name) + getattr(more, name) for name in _COUNTED}
        return replace(more, **sums)

    def payload(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__slots__ if name != "place"}
        return {"file": self.place.name, "client": self.place.client, **plain}


_COUNTED = ("messages", "leaves", "secrets", "unreadable")


class CaptureService:
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
        self.places = TranscriptPaths(config.folders)
        self.shelf = TranscriptStore(state / TRANSCRIPTS, keep_days=config.keep_days, keep_bytes=config.keep_bytes)
        self.bookmarks = Checkpoints(state / "bookmarks")
        self._config = config
        self._zone = zone
        self._clock = clock
        self._written = written
        self._hear = hear
        self._taking = anyio.Lock()
        self._threads = anyio.CapacityLimiter(MOST_THREADS)
        self._deaf: dict[TranscriptPath, int] = {}
        self.last: str | None = None
        """When something was captured, ISO 8601."""

    async def capture_next(self, place: TranscriptPath, *, delegated: bool = False) -> CaptureResult:
        """The next stretch of a transcript, with all that belongs to it: leaves, then the hearer, then the bookmark.
        `delegated`: another agent runs the session; once said, that is remembered.
        Raises NotFound, Refused, StorageFailed, and what the hearer raises."""

        def read() -> tuple[CaptureStep, CaptureResult]:
            before = without_removed(place, self.bookmarks.read(place.client, place.name), self.shelf.has)
            before.context.delegated = before.context.delegated or delegated
            step = self._step(place, before)
            return step, self._taken(place, before, step, self.shelf.write(step.pages))

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

    async def would_take(self, place: TranscriptPath) -> CaptureResult:
        """All that is new, without any trace of it. Raises as `take`, but for the hearer."""
        bookmark = await in_thread(lambda: self.bookmarks.read(place.client, place.name), what="reading a bookmark")
        total: CaptureResult | None = None
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

    def waiting(self, place: TranscriptPath, least_messages: int, size: int = -1) -> tuple[Unread, bool]:
        """What is new, and whether that is so many messages; they are counted only where the size is another one than
        `size`. For a worker thread. Raises NotFound, Refused, StorageFailed."""
        bookmark = self.bookmarks.read(place.client, place.name)
        found = waiting(self.places, place, bookmark)
        if not found.new_bytes or found.size == size:
            return found, False
        return found, len(self._step(place, bookmark).messages) >= least_messages

    def keep(self, place: TranscriptPath, *, delegated: bool = False) -> None:
        """Remember durably that there is this transcript. For a worker thread. Raises StorageFailed."""
        self.bookmarks.keep(Checkpoint(place.client, place.name, context=ReaderContext(delegated=delegated)))

    def unfinished(self) -> list[TranscriptPath]:
        """The transcripts that have grown since they were captured. For a worker thread."""
        bookmarks = self.bookmarks.read_all()
        self.last = max((each.captured_at for each in bookmarks if each.captured_at), default=None)
        found: list[TranscriptPath] = []
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

    async def found(self, client: str | None = None) -> list[TranscriptPath]:
        """Every transcript in the clients' folders, or in one client's, the latest last. Raises InvalidInput."""

        def look() -> list[TranscriptPath]:
            clients = [client] if client else list(self.places.clients)
            every = [place for name in clients for place in self.places.paths_of_client(name)]
            return [each for place in every for each in sessions(self.places, place)]

        return await in_thread(look, deadline_s=STEP_S, what="looking for transcripts")

    async def paths_in(self, file: str, client: str | None = None) -> list[TranscriptPath]:
        """The transcripts that a file holds, and those of its sub-agents. Raises InvalidInput, NotFound, Refused."""

        def look() -> list[TranscriptPath]:
            place = self.places.place(client or self.places.client_of(file), file)
            with self.places.opened(place):
                pass
            return [*sessions(self.places, place), *self.places.beside(place)]

        return await in_thread(look, deadline_s=STEP_S, what="looking at a transcript")

    # -- below -------------------------------------------------------------------------------------------------

    def _step(self, place: TranscriptPath, bookmark: Checkpoint) -> CaptureStep:
        new = read_new(self.places, place, bookmark)
        seen = self.bookmarks.seen(bookmark) if new.restarted or bookmark.restarts else frozenset[bytes]()
        return step_of(
            place, new, bookmark, seen, zone=self._zone, now=self._clock(), tool_output=self._config.tool_output
        )

    async def _tell(self, hear: Hear, place: TranscriptPath, step: CaptureStep) -> None:
        try:
            session, project = step.session or place.inner.stem, project_of(step.bookmark.context.folder)
            await hear(CapturedMessages(place.name, place.client, session, project, step.messages))
        except Exception as error:
            self._deaf[place] = self._deaf.get(place, 0) + 1
            if self._deaf[place] < MOST_TRIES:
                raise
            log.error("capture: %d messages are heard by nobody: %s", len(step.messages), place_of(error))
        self._deaf.pop(place, None)

    def _taken(self, place: TranscriptPath, before: Checkpoint, step: CaptureStep, leaves: int) -> CaptureResult:
        size = waiting(self.places, place, step.bookmark).size
        unreadable = step.bookmark.unreadable - before.unreadable
        return CaptureResult(
            place, step.session, step.bookmark.offset, size, len(step.messages), leaves, step.secrets, unreadable,
            step.at_end,
        )  # fmt: skip

    def _prune(self) -> int:
        """Bookmarks keep no word longer than leaves do."""
        gone = self.shelf.prune()
        for bookmark in self.bookmarks.read_all():
            try:
                place = self.places.place(bookmark.client, bookmark.name)
            except McpMemoryError:  # its client's folder is another one now
                continue
            kept = without_removed(place, bookmark, self.shelf.has)
            if self._is_gone(place) and not any(segment.spoken for segment in kept.threads.values()):
                self.bookmarks.drop(bookmark)
            elif kept != bookmark:
                self.bookmarks.move(kept, ())
        return gone

    def _is_gone(self, place: TranscriptPath) -> bool:
        try:
            with self.places.opened(place):
                return False
        except McpMemoryError as error:
            return isinstance(error, NotFound)
