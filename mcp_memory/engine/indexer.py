"""The indexer: keeps the index equal to the files.

One lock orders its writes. A sweep reads files outside that lock, so before it applies what it read it makes sure
that no write of our own came in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TypeVar

import anyio

from mcp_memory.embedders.base import Embedder
from mcp_memory.engine.diff import Known, difference
from mcp_memory.engine.notes import NoteFile
from mcp_memory.engine.passages import to_upsert
from mcp_memory.engine.threads import in_thread
from mcp_memory.engine.vault import Vault
from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.index.base import Change, Delete, Generation, Index
from mcp_memory.models import NotePath, Problem
from mcp_memory.storage.base import Listing
from mcp_memory.text.chunking import ChunkingConfig

T = TypeVar("T")

BATCH_FILES = 64
EMBED_TEXTS = 64
SWEEP_DEADLINE_S = 120.0
BATCH_DEADLINE_S = 120.0


@dataclass(frozen=True, slots=True)
class Reconciled:
    """One finished sweep. `at` is in monotonic seconds."""

    files: int
    changed: int
    gone: int
    took_s: float
    at: float
    folders: frozenset[NotePath]


@dataclass(slots=True)
class Progress:
    """What long work is under way, for `status` and progress bars. `at` is in monotonic seconds."""

    phase: str = "idle"
    done: int = 0
    total: int = 0
    at: float = field(default_factory=monotonic)

    def step(self, phase: str, done: int = 0, total: int = 0) -> None:
        self.phase, self.done, self.total, self.at = phase, done, total, monotonic()


class Indexer:
    """Writes to the active generation and, while one is built aside, to that too."""

    def __init__(self, vault: Vault, index: Index, chunking: ChunkingConfig) -> None:
        self._vault = vault
        self._index = index
        self._chunking = chunking
        self._lock = anyio.Lock()
        self._known: dict[NotePath, Known] = {}
        self._targets: list[Generation] = []
        self.progress = Progress()
        self.problems: dict[str, Problem] = {}
        self.pruning_paused: str | None = None
        self.last: Reconciled | None = None
        self.ignored = 0

    @property
    def generation(self) -> Generation:
        """The one that answers."""
        return self._targets[0]

    @property
    def backlog(self) -> int:
        """Texts of the answering generation that have no vector yet."""
        return self._index.watermark().vectors_pending

    def open(self) -> None:
        """Take up the active generation, or begin one that answers with keywords. Synchronous."""
        active = next((g for g in self._index.generations() if g.active), None)
        if active is None:
            fresh = self._index.begin(self._fingerprint(""), "", 0)
            self._index.activate(fresh.number, None)
            active = replace(fresh, active=True)
        self._targets = [active]
        after: NotePath | None = None
        while page := self._index.scan(active.number, after):
            self._known.update((r.path, Known(r.signature, r.etag)) for r in page)
            after = page[-1].path

    # -- own writes --------------------------------------------------------------------------------------------

    async def put(self, file: NoteFile) -> None:
        """Index a note that we have just written; if that fails, the next sweep does it."""
        path = file.record.path
        upsert = to_upsert(file.record, file.text, file.body_start, self._chunking)
        async with self._lock:
            self._known[path] = Known("", file.record.etag)
            await self._apply([upsert], self._targets)
            self._known[path] = Known(file.record.signature, file.record.etag)

    # -- sweeps ------------------------------------------------------------------------------------------------

    async def reconcile(self) -> Reconciled:
        """Make the index equal to the disk; what could not be read is in `problems`."""
        start = monotonic()
        listing = await self._run(self._vault.list, "listing the vault", SWEEP_DEADLINE_S)
        known = dict(self._known)
        found = difference(listing, known)
        self._report(listing)
        self.pruning_paused = found.suspect if found.gone or not listing.complete else None
        gone = () if self.pruning_paused else found.gone
        changed = await self._read_and_apply(found.to_read, known, "reading")
        await self._remove(gone)
        self.last = Reconciled(
            len(listing.files), changed, len(gone), monotonic() - start, monotonic(), listing.folders
        )
        self.ignored = listing.ignored
        return self.last

    async def accept_loss(self) -> int:
        """A person says that the vanished notes are really gone; returns how many were pruned."""
        listing = await self._run(self._vault.list, "listing the vault", SWEEP_DEADLINE_S)
        gone = difference(listing, self._known).gone
        await self._remove(gone)
        self.pruning_paused = None
        return len(gone)

    def distrust(self) -> None:
        """Take no file as known, so that the next sweep reads and indexes each again; cached vectors stay."""
        self._known = {path: Known("", was.etag) for path, was in self._known.items()}

    # -- generations and vectors -------------------------------------------------------------------------------

    async def use(self, embedder: Embedder | None) -> None:
        """Answer with this embedder's vectors and this chunking: at once where the active generation has them,
        else from one built aside. Without an embedder the vectors that there are stay."""
        active = self.generation
        wanted = self._fingerprint(embedder.fingerprint if embedder else "")
        if active.fingerprint == wanted or (embedder is None and active.fingerprint.startswith(self._fingerprint(""))):
            return
        embedding, dimension = (embedder.fingerprint, embedder.dimension) if embedder else ("", 0)
        built = await self._run(lambda: self._index.begin(wanted, embedding, dimension), "beginning a generation")
        async with self._lock:
            self._targets = [active, built]
        listing = await self._run(self._vault.list, "listing the vault", SWEEP_DEADLINE_S)
        await self._read_and_apply(tuple(listing.files), dict(self._known), "building", only=built)
        if embedder and active.embedding:
            await self.embed_pending(embedder, built)  # the old vectors answer until the new ones are all in
        async with self._lock:
            await self._run(lambda: self._index.activate(built.number, active.number), "activating a generation")
            self._targets = [replace(built, active=True)]
        for old in await self._run(self._index.generations, "listing generations"):
            if not old.active:
                await self._run(lambda number=old.number: self._index.drop(number), "dropping a generation")
        self.progress.step("idle")

    async def embed_pending(self, embedder: Embedder, generation: Generation | None = None) -> int:
        """Embed every text that still lacks a vector; returns how many were."""
        target = generation or self.generation
        if target.embedding != embedder.fingerprint:
            return 0
        done = 0
        while missing := await self._run(
            lambda: self._index.missing_vectors(target.number, EMBED_TEXTS), "looking for missing vectors"
        ):
            texts = [text for _, text in missing]
            vectors = await self._run(lambda texts=texts: embedder.embed_documents(texts), "embedding")
            hashes = [text_hash for text_hash, _ in missing]
            await self._run(lambda h=hashes, v=vectors: self._index.put_vectors(target.number, h, v), "storing vectors")
            done += len(hashes)
            waiting = self._index.watermark().vectors_pending if target is self.generation else 0
            self.progress.step("embedding", done, done + waiting)
        if done:
            self.progress.step("idle")
        return done

    # -- below -------------------------------------------------------------------------------------------------

    async def _read_and_apply(
        self, paths: Sequence[NotePath], known: dict[NotePath, Known], phase: str, only: Generation | None = None
    ) -> int:
        changed = 0
        for start in range(0, len(paths), BATCH_FILES):
            batch = paths[start : start + BATCH_FILES]
            files = await self._run(lambda batch=batch: self._read(batch), "reading notes")
            news = [file for file in files if only or _is_news(file, known.get(file.record.path))]
            upserts = await self._run(
                lambda news=news: [to_upsert(f.record, f.text, f.body_start, self._chunking) for f in news],
                "cutting notes into chunks",
            )
            async with self._lock:
                # What we wrote ourselves in the meantime is newer than what this sweep read.
                current = [u for u in upserts if self._known.get(u.note.path) == known.get(u.note.path)]
                await self._apply(current, [only] if only else self._targets)
                if not only:
                    for record in (file.record for file in files):
                        if self._known.get(record.path) == known.get(record.path):
                            self._known[record.path] = Known(record.signature, record.etag)
            changed += len(current)
            if len(paths) > BATCH_FILES:
                self.progress.step(phase, start + len(batch), len(paths))
        if len(paths) > BATCH_FILES:
            self.progress.step("idle")
        return changed

    def _read(self, paths: Iterable[NotePath]) -> list[NoteFile]:
        files: list[NoteFile] = []
        for path in paths:
            try:
                file = self._vault.read(path)
            except NotFound:
                continue  # gone since the listing; the next sweep sees that
            except McpMemoryError as error:
                self.problems[path] = Problem(path, error.message)
                continue
            if file.record.problem:
                self.problems[path] = Problem(path, file.record.problem)
            else:
                self.problems.pop(path, None)
            files.append(file)
        return files

    def _report(self, listing: Listing) -> None:
        """Facts about files that are gone are gone too."""
        still = {path: p for path, p in self.problems.items() if path in listing.files}
        self.problems = still | {p.path: p for p in listing.problems}

    async def _remove(self, paths: Sequence[NotePath]) -> None:
        if paths:
            async with self._lock:
                await self._apply([Delete(path) for path in paths], self._targets)
                for path in paths:
                    self._known.pop(path, None)

    async def _apply(self, changes: Sequence[Change], targets: Sequence[Generation]) -> None:
        if changes:
            for target in targets:
                await self._run(lambda number=target.number: self._index.apply(number, changes), "writing the index")

    async def _run(self, work: Callable[[], T], what: str, deadline_s: float = BATCH_DEADLINE_S) -> T:
        return await in_thread(work, deadline_s=deadline_s, what=what)

    def _fingerprint(self, embedding: str) -> str:
        return f"{self._chunking.fingerprint} | {embedding}"


def _is_news(file: NoteFile, was: Known | None) -> bool:
    return was is None or was.etag != file.record.etag or not was.signature
