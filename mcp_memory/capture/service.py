"""Capture transcripts step by step, one step at a time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import cache, partial
from pathlib import Path
from typing import Any

import anyio

from mcp_memory.capture.checkpoint import Checkpoint, Checkpoints
from mcp_memory.capture.config import CaptureConfig
from mcp_memory.capture.full_pages import find_copies
from mcp_memory.capture.readers.lines import LineBatch
from mcp_memory.capture.readers.message import ReaderContext, Transcript
from mcp_memory.capture.readers.registry import CHAT
from mcp_memory.capture.session_reader import CapturedMessages, read_session
from mcp_memory.capture.step import CaptureStep, build_step, drop_removed_segments, pages_of
from mcp_memory.capture.tail import NewLines, Unread, list_sessions, measure_unread, read_new
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.capture.transcript_store import TranscriptStore
from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.models import Clock
from mcp_memory.runtime.threads import in_thread, place_of
from mcp_memory.vault.config import CHATS, TRANSCRIPTS

Hear = Callable[[CapturedMessages], Awaitable[object]]
"""A receiver of new messages. After a crash, or if it raises, it gets the same messages again."""

MAX_TRIES = 3
"""The most attempts for the same messages; then they are skipped."""

STEP_S = 60.0

MOST_THREADS = 4
"""The worker threads for capture steps, including those past their deadline, so that other work keeps its threads."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CaptureResult:
    """The result of one step, which ended at `offset` of `size`."""

    path: TranscriptPath
    session: str
    offset: int
    size: int
    messages: int
    leaves: int
    secrets: int
    unreadable: int
    at_end: bool

    def add(self, more: CaptureResult) -> CaptureResult:
        """Add the counts of the next step."""
        sums = {name: getattr(self, name) + getattr(more, name) for name in _COUNTED}
        return replace(more, **sums)

    def payload(self) -> dict[str, Any]:
        plain = {name: value for name, value in vars(self).items() if name != "path"}
        return {"file": self.path.name, "client": self.path.client, **plain}


_COUNTED = ("messages", "leaves", "secrets", "unreadable")


class CaptureService:
    def __init__(
        self,
        state: Path,
        config: CaptureConfig,
        zone: tzinfo,
        clock: Clock,
        written: Callable[[], None],
        project_of: Callable[[str, str], str | None],
    ) -> None:
        """Store everything in the folder `state`. Calls `written` when pages changed, `listeners` with new messages.
        `project_of`: the project of a folder and session."""
        self.paths = TranscriptPaths({**config.folders, CHAT: str(state / CHATS)})
        self.store = TranscriptStore(state / TRANSCRIPTS, config.keep_days, config.keep_bytes)
        self.checkpoints = Checkpoints(state / "checkpoints")
        self._zone = zone
        self._clock = clock
        self._written = written
        self.listeners: list[Hear] = []
        self.project_of = project_of
        self._build = partial(build_step, zone=zone, project_of=project_of, begin_of=self.store.begin_of)
        self._one_at_a_time = anyio.Lock()
        self._threads = anyio.CapacityLimiter(MOST_THREADS)
        self._unheard: dict[TranscriptPath, int] = {}
        self.last_captured_at: str | None = None
        """ISO 8601."""

    async def capture_next(self, path: TranscriptPath, *, delegated: bool = False) -> CaptureResult:
        """Capture the next batch of a transcript: write its pages, pass on its messages, move the checkpoint.
        `delegated`: another agent runs the session, which is remembered from then on. Raises NotFound, Refused,
        StorageFailed, and the errors of the listeners."""

        def read() -> tuple[CaptureStep, CaptureResult]:
            before = drop_removed_segments(path, self.checkpoints.read(path.client, path.name), self.store.contains)
            before.context.delegated = before.context.delegated or delegated
            step = self._step(path, before)
            changed = self.store.remove(step.removed) + self.store.write(step.pages)
            return step, self._result(path, before, step, changed)

        async with self._one_at_a_time:
            step, result = await in_thread(read, deadline_s=STEP_S, what="reading a transcript", limiter=self._threads)
            if step.messages or step.taken_back or step.taken_back.is_missing:
                await self._tell(path, step)
            if step.words_taken_back:
                await self._take_back_in_copies(path, step)
            await in_thread(
                self.checkpoints.save, step.checkpoint, step.digests, deadline_s=STEP_S, what="saving a checkpoint"
            )
        if result.leaves:
            self._written()
        if step.messages:
            self.last_captured_at = step.checkpoint.captured_at
        return result

    async def preview(self, path: TranscriptPath) -> CaptureResult:
        """Report what `capture_next` would capture, and write nothing. Raises NotFound, Refused, StorageFailed."""
        checkpoint = await in_thread(self.checkpoints.read, path.client, path.name, what="reading a checkpoint")
        total: CaptureResult | None = None
        while total is None or not total.at_end:
            step = await in_thread(
                self._step, path, checkpoint, deadline_s=STEP_S, what="reading a transcript", limiter=self._threads
            )
            now = self._result(path, checkpoint, step, len(step.pages))
            total = now if total is None else total.add(now)
            checkpoint = step.checkpoint
        return total

    def find_unread(self, path: TranscriptPath, least_messages: int, size: int) -> tuple[Unread, bool]:
        """Return the new lines, and whether they have at least `least_messages`, which are only counted if the size
        isn't `size`. For a worker thread. Raises NotFound, Refused, StorageFailed."""
        checkpoint = self.checkpoints.read(path.client, path.name)
        found = measure_unread(self.paths, path, checkpoint)
        if not found.new_bytes or found.size == size:
            return found, False
        return found, len(self._step(path, checkpoint).messages) >= least_messages

    def remember_transcript(self, path: TranscriptPath, *, delegated: bool) -> None:
        """Record durably that a transcript exists. For a worker thread. Raises StorageFailed."""
        self.checkpoints.save_if_new(Checkpoint(path.client, path.name, context=ReaderContext(delegated=delegated)))

    def list_grown(self) -> list[TranscriptPath]:
        """List the transcripts that have grown since they were captured. For a worker thread."""
        checkpoints = self.checkpoints.read_all()
        self.last_captured_at = max(filter(None, (known.captured_at for known in checkpoints)), default=None)
        found: list[TranscriptPath] = []
        for checkpoint in checkpoints:
            with suppress(McpMemoryError):  # it is gone, or its client's folder has been reconfigured
                path = self.paths.locate(checkpoint.client, checkpoint.name)
                found += [path] if measure_unread(self.paths, path, checkpoint).new_bytes > 0 else []
        return found

    async def prune(self) -> None:
        """Remove pages that are too old or too many. Raises StorageFailed."""
        async with self._one_at_a_time:
            gone = await in_thread(self._prune, what="pruning transcripts")
        if gone:
            self._written()

    async def list_transcripts(self, client: str | None = None) -> list[TranscriptPath]:
        """List every transcript of all clients, or of one, newest last. Raises InvalidInput."""

        def find() -> list[TranscriptPath]:
            clients = [client] if client else list(self.paths.clients)
            every = [path for name in clients for path in self.paths.list_transcripts(name)]
            return [session for path in every for session in list_sessions(self.paths, path)]

        return await in_thread(find, deadline_s=STEP_S, what="looking for transcripts")

    async def list_in_file(self, file: str, client: str | None = None) -> list[TranscriptPath]:
        """List the transcripts in a file, and the transcripts of its sub-agents. Raises InvalidInput, NotFound,
        Refused."""

        def find() -> list[TranscriptPath]:
            path = self.paths.locate(client, file) if client else self.paths.locate_any(file)
            with self.paths.open_transcript(path):
                pass
            return [*list_sessions(self.paths, path), *self.paths.list_sub_agents(path)]

        return await in_thread(find, deadline_s=STEP_S, what="looking at a transcript")

    # -- below -------------------------------------------------------------------------------------------------

    def _step(self, path: TranscriptPath, checkpoint: Checkpoint) -> CaptureStep:
        """Read and build a step. A sub-agent's transcript is read from its beginning again when more of its session is
        off the record."""
        session = path.parent and self.checkpoints.read(path.client, path.parent.name)
        silences = session.context.silences if session else []
        removed: tuple[str, ...] = ()
        if silences != checkpoint.context.silences and session and not checkpoint.context.silence:
            removed = pages_of(path, checkpoint)
            context = ReaderContext(delegated=checkpoint.context.delegated)
            checkpoint = Checkpoint(path.client, path.name, context=context)
        new = read_new(self.paths, path, checkpoint)
        seen = self.checkpoints.read_digests(checkpoint) if new.restarted or checkpoint.restarts else frozenset[bytes]()
        before = Checkpoint(path.client, path.name) if new.restarted else checkpoint
        earlier = cache(partial(self._read_again, path, before))
        step = self._build(path, new, checkpoint, seen, now=self._clock(), earlier=earlier, silences=silences)
        return replace(step, removed=(*removed, *step.removed))

    def _read_again(self, path: TranscriptPath, checkpoint: Checkpoint) -> Transcript:
        """Read the messages that were kept up to a checkpoint."""
        before = read_session(
            self.paths, path, self._zone, self.project_of, until=checkpoint.offset, withdrawn=checkpoint.withdrawn
        )
        return before.messages

    async def _take_back_in_copies(self, path: TranscriptPath, step: CaptureStep) -> None:
        """Take out of the copies of a transcript what the person takes back in it."""

        def find() -> list[tuple[TranscriptPath, CaptureStep]]:
            known, words = self.checkpoints.read_all(), step.words_taken_back
            found: list[tuple[TranscriptPath, CaptureStep]] = []
            for copy, held, turns in find_copies(self.paths, known, path, words, self._read_again):
                checkpoint = drop_removed_segments(copy, held, self.store.contains)
                no_lines = LineBatch((), checkpoint.offset, checkpoint.in_long_line, 0, at_end=True)
                nothing = NewLines(no_lines, checkpoint.fingerprint, restarted=False)
                earlier, now = cache(partial(self._read_again, copy, checkpoint)), self._clock()
                less = self._build(copy, nothing, checkpoint, (), now=now, earlier=earlier, withdrawn=turns)
                self.store.remove(less.removed)
                self.store.write(less.pages)
                found.append((copy, less))
            return found

        for copy, less in await in_thread(find, deadline_s=STEP_S, what="looking for copies", limiter=self._threads):
            await self._tell(copy, less)
            await in_thread(
                self.checkpoints.save, less.checkpoint, less.digests, deadline_s=STEP_S, what="saving a checkpoint"
            )

    async def _tell(self, path: TranscriptPath, step: CaptureStep) -> None:
        try:
            captured = CapturedMessages.from_step(self.paths, path, step)
            for listener in self.listeners:
                await listener(captured)
        except Exception as error:
            self._unheard[path] = self._unheard.get(path, 0) + 1
            if self._unheard[path] < MAX_TRIES:
                raise
            log.error("capture: %d messages were skipped: %s", len(step.messages), place_of(error))
        self._unheard.pop(path, None)

    def _result(self, path: TranscriptPath, before: Checkpoint, step: CaptureStep, leaves: int) -> CaptureResult:
        size, offset = measure_unread(self.paths, path, step.checkpoint).size, step.checkpoint.offset
        unreadable, count = step.checkpoint.unreadable - before.unreadable, len(step.messages)
        counts = (count, leaves, step.secret_count, unreadable)
        return CaptureResult(path, step.session, offset, size, *counts, at_end=step.at_end)

    def _prune(self) -> int:
        """Remove old pages, and their words from the checkpoints."""
        gone = self.store.prune()
        for checkpoint in self.checkpoints.read_all():
            try:
                path = self.paths.locate(checkpoint.client, checkpoint.name)
            except McpMemoryError:  # its client's folder has been reconfigured
                continue
            kept = drop_removed_segments(path, checkpoint, self.store.contains)
            is_gone = False
            try:
                with self.paths.open_transcript(path):
                    pass
            except McpMemoryError as error:
                is_gone = isinstance(error, NotFound)
            if is_gone and not any(segment.turns for segment in kept.threads.values()):
                self.checkpoints.delete(checkpoint)
            elif kept != checkpoint:
                self.checkpoints.save(kept, ())
        return gone
