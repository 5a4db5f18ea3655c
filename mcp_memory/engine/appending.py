"""Appending: a checked draft becomes a durable note that a search finds, and a receipt that says how far that went."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from time import monotonic

import anyio

from mcp_memory.engine.draft import Draft
from mcp_memory.engine.indexer import Indexer
from mcp_memory.engine.model import Model
from mcp_memory.engine.search import Searcher
from mcp_memory.engine.stored import Stored
from mcp_memory.engine.threads import in_thread
from mcp_memory.engine.vault import Vault
from mcp_memory.engine.watcher import Watcher
from mcp_memory.errors import DeadlineExceeded, IndexUnavailable, McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import Etag, Filters, NoteId, NotePath, Outcome, Problem, Receipt

VECTOR_WAIT_S = 0.5
"""How long an append waits for its own vectors before it answers without them."""

SIMILAR_WAIT_S = 1.0
"""How long it looks for notes that say nearly the same."""

SIMILAR_COSINE = 0.9
"""From here on two texts say nearly the same to MiniLM."""


class Appending:
    """Any number of appends at once; each keeps one deadline for writing and indexing together."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        indexer: Indexer,
        model: Model,
        searcher: Searcher,
        watcher: Watcher,
        clock: Callable[[], datetime],
        deadline_s: float,
    ) -> None:
        self._vault = vault
        self._index = index
        self._indexer = indexer
        self._model = model
        self._searcher = searcher
        self._watcher = watcher
        self._clock = clock
        self._deadline_s = deadline_s

    async def append(self, draft: Draft, *, supersedes: NotePath | None) -> Receipt:
        """Raises what the vault raises; past the deadline the outcome is `UNKNOWN`, and the same call resolves it."""
        latest = monotonic() + self._deadline_s
        try:
            stored = await in_thread(
                lambda: self._vault.append(draft, supersedes=supersedes, same=self._same(draft)),
                deadline_s=self._deadline_s,
                what="writing the note",
            )
        except DeadlineExceeded:
            return Receipt(NoteId(""), NotePath(""), Etag(""), Outcome.UNKNOWN, "pending")
        indexed = await self._index_now(stored, supersedes, latest)
        return Receipt(
            id=_hit_id(stored),
            path=stored.file.record.path,
            etag=stored.file.record.etag,
            outcome=stored.outcome,
            indexed=indexed,
            similar=await self._similar(stored) if stored.outcome is not Outcome.DUPLICATE else (),
        )

    async def _index_now(self, stored: Stored, old: NotePath | None, latest: float) -> str:
        """Index what was just written, until `latest` (monotonic seconds); else the sweep does it, and the receipt
        says so."""
        path = stored.file.record.path
        try:
            with anyio.fail_after(max(0.1, latest - monotonic())):
                await self._indexer.put(stored.file)
                if old:
                    await self._indexer.put(
                        await in_thread(lambda: self._vault.read(old), deadline_s=10, what="reading")
                    )
        except (McpMemoryError, TimeoutError) as error:
            why = error.message if isinstance(error, McpMemoryError) else "not indexed in time"
            self._indexer.problems[path] = Problem(path, why)
            self._watcher.hint()
            return "pending"
        return "full" if await self._model.embed_now(VECTOR_WAIT_S) else "keywords"

    def _same(self, draft: Draft) -> list[NotePath]:
        """Where the index knows this very content from; the ledger tells it too, but not after a move."""
        try:
            found = self._index.find_content(draft.content_hash, draft.kind.name, draft.project)
        except IndexUnavailable:
            return []  # a broken index is no reason to refuse a note
        return [record.path for record in found if not record.path.startswith("@")]

    async def _similar(self, stored: Stored) -> tuple[NoteId, ...]:
        """Notes that say nearly the same: told to the caller, never merged."""
        record = stored.file.record
        if record.is_log or self._model.embedder is None:
            return ()
        filters = Filters(now=self._clock(), project=record.project)
        near: tuple[NoteId, ...] = ()
        with anyio.move_on_after(SIMILAR_WAIT_S):
            near = await self._searcher.alike(record.path, filters, SIMILAR_COSINE)
        return tuple(note_id for note_id in near if note_id != record.id)[:5]


def _hit_id(stored: Stored) -> NoteId:
    record = stored.file.record
    return NoteId(f"{record.path}#{stored.entry}") if stored.entry else record.id
