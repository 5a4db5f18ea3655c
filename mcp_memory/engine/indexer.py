"""The indexer: keeps the index equal to the files.

One lock orders its writes. A sweep reads files outside that lock, so before it applies what it read it makes sure
that no write of our own came in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TypeVar

import anyio

from mcp_memory.embedders.base import Embedder
from mcp_memory.engine.diff import Known, difference, suspicion
from mcp_memory.engine.embedding import Embedding
from mcp_memory.engine.notes import NoteFile
from mcp_memory.engine.passages import PASSAGES_VERSION, to_upsert
from mcp_memory.engine.progress import Progress
from mcp_memory.engine.threads import in_thread
from mcp_memory.engine.vault import Vault
from mcp_memory.errors import IndexUnavailable, McpMemoryError, NotFound, PathRefused, Refused
from mcp_memory.index.base import Change, Delete, Generation, Index, Upsert
from mcp_memory.models import NotePath, NoteRecord, Problem
from mcp_memory.storage.base import Listing
from mcp_memory.text.chunking import ChunkingConfig

T = TypeVar("T")

BATCH_FILES = 64
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


class Indexer:
    """Writes to the active generation and, while one is built aside, to that too."""

    def __init__(self, vault: Vault, index: Index, chunking: ChunkingConfig) -> None:
        self._vault = vault
        self._index = index
        self._chunking = chunking
        self._lock = anyio.Lock()
        self._sweeping = anyio.Lock()
        self._known: dict[NotePath, Known] = {}
        self._targets: list[Generation] = []
        self.progress = Progress()
        self.embedding = Embedding(index, self.progress)
        self.problems: dict[str, Problem] = {}
        """Files that could not be used as they are, by path."""
        self.faults: dict[str, Problem] = {}
        """What went wrong with the work itself, by its name."""
        self.pruning_paused: str | None = None
        self._unaccepted = False
        self._faults_seen = 0
        self.last: Reconciled | None = None
        self.ignored = 0

    @property
    def generation(self) -> Generation:
        """The one that answers."""
        return self._targets[0]

    @property
    def replaced(self) -> bool:
        """The index was found damaged or gone since the last sweep; an empty one stands in its place."""
        return len(self._index.problems) != self._faults_seen

    def open(self) -> None:
        """Take up the active generation, or begin one that answers with keywords. Synchronous."""
        active = next((g for g in self._index.generations() if g.active), None)
        if active is None:
            fresh = self._index.begin(self._fingerprint(""), "", 0)
            self._index.activate(fresh.number, None)
            active = replace(fresh, active=True)
        self._targets = [active]
        self._known.clear()
        for record in self._scan(active):
            self._known[record.path] = Known(record.signature, record.etag)
            if record.problem:
                self.problems[record.path] = Problem(record.path, record.problem)

    async def _reopened(self) -> None:
        """Start over where the index was replaced under us: a damaged or deleted file makes room for an empty one."""
        known = await self._run(self._index.generations, "listing generations")
        if all(self.generation.number != each.number or not each.active for each in known):
            async with self._lock:
                await self._run(self.open, "opening the index")

    # -- own writes --------------------------------------------------------------------------------------------

    async def put(self, file: NoteFile) -> None:
        """Index a note that we have just written; if that fails, the next sweep does it.

        Whoever comes second, in whatever order: what is on disk by now is what gets indexed.
        """
        path = file.record.path
        await self._reopened()
        async with self._lock:
            self._known[path] = Known("", file.record.etag)
            known, upsert = await self._run(lambda: self._latest(file), "cutting a note into chunks")
            await self._apply([upsert], self._targets)
            self._known[path] = known

    # -- sweeps ------------------------------------------------------------------------------------------------

    async def reconcile(self) -> Reconciled:
        """Make the index equal to the disk; what could not be read is in `problems`. One sweep at a time."""
        async with self._sweeping:
            return await self._reconcile()

    async def _reconcile(self) -> Reconciled:
        start = monotonic()
        faults = len(self._index.problems)
        await self._reopened()
        known = dict(self._known)  # before the listing, so that a note written behind it is not taken for gone
        listing = await self._run(self._vault.list, "listing the vault", SWEEP_DEADLINE_S)
        to_read, gone = await self._compared(listing, known)
        self._report(listing)
        self.pruning_paused = suspicion(listing, len(gone), len(known), unaccepted=self._unaccepted)
        self._unaccepted = self.pruning_paused is not None and (listing.complete or self._unaccepted)
        if self.pruning_paused:
            gone = []
        changed = await self._read_and_apply(to_read, known, "reading")
        await self._remove(gone, known)
        self.last = Reconciled(
            len(listing.files), changed, len(gone), monotonic() - start, monotonic(), listing.folders
        )
        self.ignored = listing.ignored
        self._faults_seen = faults
        return self.last

    async def accept_loss(self) -> int:
        """A person says that the vanished notes are really gone; returns how many were pruned."""
        async with self._sweeping:
            known = dict(self._known)
            listing = await self._run(self._vault.list, "listing the vault", SWEEP_DEADLINE_S)
            _, gone = await self._compared(listing, known)
            await self._remove(gone, known)
            self.pruning_paused, self._unaccepted = None, False
            return len(gone)

    def distrust(self) -> None:
        """Take no file as known, so that the next sweep reads and indexes each again; cached vectors stay."""
        self._known = {path: Known("", was.etag) for path, was in self._known.items()}

    # -- generations and vectors -------------------------------------------------------------------------------

    async def use(self, embedder: Embedder | None) -> None:
        """Answer with this embedder's vectors and this chunking: at once where the active generation has them,
        else from one built aside. Without an embedder the vectors that there are stay.

        Raises IndexUnavailable while notes are missing that may come back: a new generation would not have them.
        """
        await self._reopened()
        active = self.generation
        wanted = self._fingerprint(embedder.fingerprint if embedder else "")
        if active.fingerprint == wanted or (embedder is None and active.fingerprint.startswith(self._fingerprint(""))):
            return
        if self.pruning_paused:
            raise IndexUnavailable("notes are missing, so the index is not built anew", hint="mcp-memory doctor")
        embedding, dimension = (embedder.fingerprint, embedder.dimension) if embedder else ("", 0)
        built = await self._run(lambda: self._index.begin(wanted, embedding, dimension), "beginning a generation")
        async with self._lock:
            self._targets = [active, built]
        await self._build(built)
        if embedder and active.embedding:
            await self.embedding.work_off(
                embedder, lambda: built
            )  # the old vectors answer until the new ones are all in
        async with self._lock:
            await self._run(lambda: self._index.activate(built.number, active.number), "activating a generation")
            self._targets = [replace(built, active=True)]
        for old in await self._run(self._index.generations, "listing generations"):
            if not old.active:
                await self._run(lambda number=old.number: self._index.drop(number), "dropping a generation")
        self.progress.step("idle")

    # -- below -------------------------------------------------------------------------------------------------

    async def _build(self, built: Generation) -> None:
        known = dict(self._known)
        listing = await self._run(self._vault.list, "listing the vault", SWEEP_DEADLINE_S)
        # An interrupted build may hold files that went while nobody looked.
        held = await self._run(lambda: {record.path for record in self._scan(built)}, "reading the index")
        async with self._lock:
            await self._apply([Delete(path) for path in held if path not in listing.files], [built])
        await self._read_and_apply([path for path in listing.files if path in known], known, "building", only=built)
        held = await self._run(lambda: {record.path for record in self._scan(built)}, "reading the index")
        for path in known.keys() - held:
            self._known[path] = Known("", known[path].etag)  # not readable now: tried again at each sweep

    async def _compared(
        self, listing: Listing, known: Mapping[NotePath, Known]
    ) -> tuple[Sequence[NotePath], list[NotePath]]:
        """The files to read, and those that are gone."""
        found = difference(listing, known)
        looked = await self._run(lambda: [p for p in found.doubtful if self._vault.is_gone(p)], "looking for notes")
        return found.to_read, [*found.gone, *looked]

    def _latest(self, file: NoteFile) -> tuple[Known, Upsert]:
        if not self._vault.is_current(file):
            file = self._vault.read(file.record.path)
        return _known(file), to_upsert(file.record, file.text, file.body_start, self._chunking)

    def _scan(self, generation: Generation) -> Iterator[NoteRecord]:
        after: NotePath | None = None
        while page := self._index.scan(generation.number, after):
            yield from page
            after = page[-1].path

    async def _read_and_apply(
        self, paths: Sequence[NotePath], known: dict[NotePath, Known], phase: str, only: Generation | None = None
    ) -> int:
        changed = 0
        for start in range(0, len(paths), BATCH_FILES):
            batch = paths[start : start + BATCH_FILES]
            files, unusable, faults = await self._run(lambda batch=batch: self._read(batch), "reading notes")
            self.problems = {path: p for path, p in self.problems.items() if path not in batch} | faults
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
                    for file in files:
                        path = file.record.path
                        if self._known.get(path) == known.get(path):
                            self._known[path] = _known(file)
            await self._remove([path for path in unusable if path in known], known)
            changed += len(current)
            if len(paths) > BATCH_FILES:
                self.progress.step(phase, start + len(batch), len(paths))
        if len(paths) > BATCH_FILES:
            self.progress.step("idle")
        return changed

    def _read(self, paths: Iterable[NotePath]) -> tuple[list[NoteFile], list[NotePath], dict[str, Problem]]:
        """The notes; the paths of files that are none any more; and what is wrong with any of them, by path. A file
        that cannot be read now is only in the last."""
        files: list[NoteFile] = []
        unusable: list[NotePath] = []
        faults: dict[str, Problem] = {}
        for path in paths:
            try:
                file = self._vault.read(path)
            except NotFound:
                continue  # gone since the listing; the next sweep sees that
            except McpMemoryError as error:
                faults[path] = Problem(path, error.message)
                if isinstance(error, (Refused, PathRefused)):
                    unusable.append(path)
                continue
            if file.record.problem:
                faults[path] = Problem(path, file.record.problem)
            files.append(file)
        return files, unusable, faults

    def _report(self, listing: Listing) -> None:
        """Facts about files that are gone are gone too."""
        still = {path: p for path, p in self.problems.items() if path in listing.files}
        self.problems = still | {p.path: p for p in listing.problems}

    async def _remove(self, paths: Sequence[NotePath], known: Mapping[NotePath, Known]) -> None:
        """Take these out, but for those that we wrote ourselves since `known` was taken."""
        if paths:
            async with self._lock:
                gone = [path for path in paths if self._known.get(path) == known.get(path)]
                await self._apply([Delete(path) for path in gone], self._targets)
                for path in gone:
                    self._known.pop(path, None)

    async def _apply(self, changes: Sequence[Change], targets: Sequence[Generation]) -> None:
        if changes:
            for target in targets:
                await self._run(lambda number=target.number: self._index.apply(number, changes), "writing the index")

    async def _run(self, work: Callable[[], T], what: str, deadline_s: float = BATCH_DEADLINE_S) -> T:
        return await in_thread(work, deadline_s=deadline_s, what=what)

    def _fingerprint(self, embedding: str) -> str:
        return f"{self._chunking.fingerprint} passages{PASSAGES_VERSION} | {embedding}"


def _known(file: NoteFile) -> Known:
    """The signature of a file that is too young to be sure of is marked, so that the next sweep reads it again."""
    signature = file.record.signature
    return Known(signature if file.settled else f"{signature}?", file.record.etag)


def _is_news(file: NoteFile, was: Known | None) -> bool:
    return was is None or was.etag != file.record.etag or not was.signature
