"""Appending: a checked draft becomes a durable note that a search finds, and a receipt that says how far that went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from time import monotonic

import anyio

from mcp_memory.errors import DeadlineExceeded, IndexUnavailable, McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.indexing.watcher import Watcher
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Etag, Filters, NoteId, NotePath, Outcome, Passage, Problem, Receipt
from mcp_memory.recall.cross_session_updates import CrossSessionUpdates
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.search.near_duplicates import NearDuplicates
from mcp_memory.vault.config import LOG
from mcp_memory.vault.draft import Draft, WriteResult
from mcp_memory.vault.vault import Vault

MOST_SIMILAR = 5


class Appender:
    """Any number of appends at once; each keeps one deadline for writing and indexing together."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        writer: IndexWriter,
        model: EmbedderLifecycle,
        watcher: Watcher,
        news: CrossSessionUpdates,
        clock: Callable[[], datetime],
        deadline_s: float,
    ) -> None:
        self._vault = vault
        self._index = index
        self._writer = writer
        self._model = model
        self._similar = NearDuplicates(index)
        self._watcher = watcher
        self._news = news
        self._clock = clock
        self._deadline_s = deadline_s

    async def append(self, draft: Draft, *, supersedes: NotePath | None) -> Receipt:
        """Raises what the vault raises; past the deadline the outcome is `UNKNOWN`, and the same call resolves it."""
        near: list[Passage] = []

        async def look() -> None:
            filters = Filters(now=self._clock(), project=draft.project)
            near.extend(await self._similar.find(draft.content, filters))

        failed: McpMemoryError | None = None
        receipt = _UNKNOWN
        async with anyio.create_task_group() as tasks:
            if draft.kind.name != LOG:
                tasks.start_soon(look)  # while the disk is at work
            try:
                receipt = await self._written(draft, supersedes)
            except McpMemoryError as error:
                failed = error
                tasks.cancel_scope.cancel()
        if failed:
            raise failed
        if receipt.outcome in (Outcome.DUPLICATE, Outcome.UNKNOWN):
            return receipt
        self._news.add(receipt.id, draft.source, draft.session)
        others = [passage.shown_id for passage in near if passage.note.path not in (receipt.path, supersedes)]
        return replace(receipt, similar=tuple(dict.fromkeys(others))[:MOST_SIMILAR])

    async def _written(self, draft: Draft, supersedes: NotePath | None) -> Receipt:
        latest = monotonic() + self._deadline_s
        try:
            stored = await in_thread(
                lambda: self._vault.append(draft, supersedes=supersedes, same=self._same(draft)),
                deadline_s=self._deadline_s,
                what="writing the note",
            )
        except DeadlineExceeded:
            return _UNKNOWN
        indexed = await self._index_now(stored, supersedes, latest)
        record = stored.file.record
        return Receipt(_hit_id(stored), record.path, record.etag, stored.outcome, indexed)

    async def _index_now(self, stored: WriteResult, old: NotePath | None, latest: float) -> str:
        """Index what was just written, until `latest` (monotonic seconds); else the sweep does it, and the receipt
        says so. Its vectors are made behind the answer: words find it until then."""
        path = stored.file.record.path
        try:
            with anyio.fail_after(max(0.1, latest - monotonic())):
                complete = await self._writer.index_note(stored.file)
                if old:
                    await self._writer.index_note(
                        await in_thread(lambda: self._vault.read(old), deadline_s=10, what="reading")
                    )
        except (McpMemoryError, TimeoutError) as error:
            why = error.message if isinstance(error, McpMemoryError) else "not indexed in time"
            self._writer.problems[path] = Problem(path, why)
            self._watcher.hint()
            return "pending"
        if complete:
            return "full"
        self._model.wake()
        return "keywords"

    def _same(self, draft: Draft) -> list[NotePath]:
        """Where the index knows this very content from; the ledger tells it too, but not after a move."""
        kind, project = draft.kind.name, draft.project
        since = {each.now for each in self._vault.ledger.written(draft.content_hash, kind, project) if each.now}
        try:
            contents = [draft.content_hash, *sorted(since)]
            found = [note for each in contents for note in self._index.find_content(each, kind, project)]
        except IndexUnavailable:
            return []  # a broken index is no reason to refuse a note
        return [record.path for record in found if not record.path.startswith("@")]


_UNKNOWN = Receipt(NoteId(""), NotePath(""), Etag(""), Outcome.UNKNOWN, "pending")


def _hit_id(stored: WriteResult) -> NoteId:
    record = stored.file.record
    return NoteId(f"{record.path}#{stored.entry}") if stored.entry else record.id
