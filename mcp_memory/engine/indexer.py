"""The indexer: keeps the index equal to the files.

One lock orders its writes, and is held for these alone: files are read and cut before. So whoever has it first makes
sure that what was read is still so. Whoever waits for it gets it in turn: a note that an agent wrote waits for one
batch of a sweep at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import monotonic
from typing import TypeVar

import anyio

from mcp_memory.embedders.base import Embedder
from mcp_memory.engine.diff import Known, difference, suspicion
from mcp_memory.engine.embedding import Embedding
from mcp_memory.engine.notes import NoteFile
from mcp_memory.engine.passages import PASSAGES_VERSION
from mcp_memory.engine.preparing import BATCH_FILES, Preparer, Ready
from mcp_memory.engine.progress import Progress
from mcp_memory.engine.threads import in_thread
from mcp_memory.engine.unaccepted import UnacceptedLoss
from mcp_memory.engine.vault import Vault
from mcp_memory.errors import IndexUnavailable
from mcp_memory.index.base import Change, Delete, Generation, Index
from mcp_memory.models import Etag, NotePath, NoteRecord, Problem
from mcp_memory.storage.base import FolderId, Listing
from mcp_memory.text.chunking import ChunkingConfig

T = TypeVar("T")

TRIES = 3
"""How often a note that changes under us is cut anew before others have to wait for it."""

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
    folders: Mapping[NotePath, FolderId]


class Indexer:
    """Writes to the active generation and, while one is built aside, to that too."""

    def __init__(self, vault: Vault, index: Index, chunking: ChunkingConfig, loss: UnacceptedLoss) -> None:
        self._vault = vault
        self._index = index
        self._chunking = chunking
        self._preparer = Preparer(vault, chunking)
        self._loss = loss
        self._lock = anyio.Lock()
        self._sweeping = anyio.Lock()
        self._known: dict[NotePath, Known] = {}
        self._targets: list[Generation] = []
        self.progress = Progress()
        self.problems: dict[str, Problem] = {}
        """Files that could not be used as they are, by path."""
        self.faults: dict[str, Problem] = {}
        """What went wrong with the work itself, by its name."""
        self.embedding = Embedding(index, self.progress, self.faults)
        self._faults_seen = 0
        self.last: Reconciled | None = None
        self.ignored = 0

    @property
    def generation(self) -> Generation:
        """The one that answers."""
        return self._targets[0]

    @property
    def standing(self) -> dict[NotePath, Etag]:
        """The files that the index was made from."""
        return {path: known.etag for path, known in self._known.items()}

    @property
    def pruning_paused(self) -> str | None:
        """Why nothing that vanished may leave the index now, or None."""
        return self._loss.why

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
            # A forget that a crash cut short may be known to the vault alone: such a note is looked at again.
            signature = record.signature if self._vault.shows(record) else ""
            self._known[record.path] = Known(signature, record.etag)
            if record.problem:
                self.problems[record.path] = Problem(record.path, record.problem)

    async def _reopened(self) -> None:
        """Start over where the index was replaced under us: a damaged or deleted file makes room for an empty one."""
        if await self._run(self._is_replaced, "listing generations"):
            async with self._lock:
                await self._run(self.open, "opening the index")

    def _is_replaced(self) -> bool:
        known = self._index.generations()
        return all(self.generation.number != each.number or not each.active for each in known)

    # -- own writes --------------------------------------------------------------------------------------------

    async def put(self, file: NoteFile) -> None:
        """Index a note that we have just written; if that fails, the next sweep does it.

        Whoever comes second, in whatever order: what is on disk by now is what gets indexed.
        """
        try:
            for _ in range(TRIES):
                replaced, ready = await self._run(
                    lambda: (self._is_replaced(), self._preparer.latest(file)), "cutting a note into chunks"
                )
                if replaced:
                    await self._reopened()
                async with self._lock:
                    if await self._run(lambda ready=ready: self._written(ready), "writing the index"):
                        return self._is_indexed(ready)
            async with self._lock:  # what others write to all the time has to wait with us for once
                ready = await self._run(lambda: self._preparer.latest(file), "cutting a note into chunks")
                await self._apply([ready.upsert], self._targets)
                self._is_indexed(ready)
        except BaseException:
            self._known[file.record.path] = Known("", file.record.etag)
            raise

    def _written(self, ready: Ready) -> bool:
        """In a thread: whether the note was still the one on disk, and is in the index now."""
        if not self._vault.is_current(ready.file):
            return False
        for target in self._targets:
            self._index.apply(target.number, [ready.upsert])
        return True

    def _is_indexed(self, ready: Ready) -> None:
        path, problem = ready.upsert.note.path, ready.upsert.note.problem
        self._known[path] = ready.known
        self._judge([path], {path: Problem(path, problem)} if problem else {})

    async def take_out(self, path: NotePath) -> None:
        """Drop the rows of a file that we have just removed. Raises IndexUnavailable."""
        await self._reopened()
        await self._remove([path], dict(self._known))

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
        changed = await self._read_and_apply(to_read, known, "reading")
        arrived = [now.etag for path, now in self._known.items() if path not in known]
        gone = await self._run(
            lambda: self._loss.believable(listing, gone, known, arrived), "looking for what vanished"
        )
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
            await self._run(self._loss.accept, "writing the state folder")
            return len(gone)

    def distrust(self) -> None:
        """Trust no signature, so that the next sweep reads every file and compares its bytes."""
        self._known = {path: Known("?" if was.signature else "", was.etag) for path, was in self._known.items()}

    def doubt(self, path: NotePath) -> None:
        """Have the next sweep index this file again, whatever its bytes."""
        if was := self._known.get(path):
            self._known[path] = Known("", was.etag)

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
        if suspicion(listing, len(known.keys() - listing.files.keys()), len(known), unaccepted=False):
            raise IndexUnavailable("notes are missing, so the index is not built anew", hint="mcp-memory doctor")
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

    def _scan(self, generation: Generation) -> Iterator[NoteRecord]:
        after: NotePath | None = None
        while page := self._index.scan(generation.number, after):
            yield from page
            after = page[-1].path

    async def _read_and_apply(
        self, paths: Sequence[NotePath], known: dict[NotePath, Known], phase: str, only: Generation | None = None
    ) -> int:
        changed = done = 0

        def is_news(file: NoteFile) -> bool:
            path = file.record.path
            # What was said of a file that is as it was may have been about something else.
            return only is not None or path in self.problems or _is_news(file, known.get(path))

        while done < len(paths):
            rest = islice(paths, done, None)
            batch = await self._run(lambda rest=rest: self._preparer.batch(rest, is_news), "reading notes")
            self._judge(batch.paths, batch.problems)
            async with self._lock:
                # What we wrote ourselves in the meantime is newer than what this sweep read.
                current = [u for u in batch.upserts if self._known.get(u.note.path) == known.get(u.note.path)]
                await self._apply(current, [only] if only else self._targets)
                if not only:
                    for path, now in batch.known.items():
                        if self._known.get(path) == known.get(path):
                            self._known[path] = now
            await self._remove([path for path in batch.unusable if path in known], known)
            changed += len(current)
            done += len(batch.paths)
            if len(paths) > BATCH_FILES:
                self.progress.step(phase, done, len(paths))
        if len(paths) > BATCH_FILES:
            self.progress.step("idle")
        return changed

    def _judge(self, paths: Sequence[NotePath], problems: Mapping[str, Problem]) -> None:
        """These are all the problems that these files have now. A new dictionary: others read it in threads."""
        if problems or not self.problems.keys().isdisjoint(paths):
            others = self.problems.keys() - set(paths)
            self.problems = {path: self.problems[path] for path in others} | dict(problems)

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


def _is_news(file: NoteFile, was: Known | None) -> bool:
    return was is None or was.etag != file.record.etag or not was.signature
