"""Write notes to the index; no other code does. Files are read and chunked before the lock is taken, so its holder
first checks that they haven't changed.

Callers get the lock in turn, so an agent's note waits for at most one batch of a sweep. Over 300 lines because notes of
ours, sweeps and rebuilds write under this one lock.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import anyio

from mcp_memory.errors import IndexReplaced
from mcp_memory.index.base import Change, Delete, Generation, Index
from mcp_memory.indexing.index_rows import PASSAGES_VERSION, IndexedFile, PreparedRows, RowPreparer
from mcp_memory.models import Etag, NotePath, NoteRecord, Problem
from mcp_memory.runtime.threads import in_thread
from mcp_memory.storage.base import Listing
from mcp_memory.text.chunking.chunker import ChunkingConfig
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault

TRIES = 3
"""The number of times that a changing note is chunked again before the lock is kept meanwhile."""

SHORT_CHARS = 16_000
"""The most characters of a note that is chunked with the lock, in a millisecond, which saves a thread."""

WRITE_S = 30.0
"""The deadline for writing one note; the largest takes a second."""


class IndexWriter:
    """The writer of the active generation, and of another one while it is built. Knows the version of each indexed
    file."""

    def __init__(self, vault: Vault, index: Index, chunking: ChunkingConfig) -> None:
        self._vault = vault
        self._index = index
        self._chunking = chunking
        self._preparer = RowPreparer(vault, chunking)
        self.lock = anyio.Lock()
        self._known: dict[NotePath, IndexedFile] = {}
        self._targets: list[Generation] = []
        self.problems: dict[str, Problem] = {}
        """Files that could not be used as they are, by path."""
        self.listeners: list[Callable[[Sequence[NotePath]], None]] = []
        """Called in the event loop with the files that were indexed or removed."""

    @property
    def generation(self) -> Generation:
        """The active generation, which answers searches."""
        return self._targets[0]

    @property
    def indexed_files(self) -> dict[NotePath, IndexedFile]:
        """Return a copy of the version of each indexed file."""
        return dict(self._known)

    @property
    def indexed_etags(self) -> dict[NotePath, Etag]:
        return {path: known.etag for path, known in self.indexed_files.items()}

    def is_known(self, path: NotePath, etag: Etag, signature: str) -> bool:
        """Return whether the index was made from these bytes, and the file with this signature has them."""
        known = self._known.get(path)
        return known is not None and (known.etag, known.signature.removesuffix("?")) == (etag, signature)

    def open(self) -> None:
        """Load the active generation, or begin one for keywords; also if the index turns out to be damaged.
        Synchronous."""
        try:
            self._open()
        except IndexReplaced:
            self._open()

    def _open(self) -> None:
        active = next((g for g in self._index.generations() if g.active), None)
        if active is None:
            fresh = self._index.begin(self.fingerprint(""), "", 0)
            self._index.activate(fresh.number, None)
            active = replace(fresh, active=True)
        self._targets = [active]
        self._known.clear()
        for record in self.scan(active):
            self._vault.chains.learn(record.path, record)
            # If a crash interrupted a forget, only the vault knows of it, and the note is checked again.
            signature = record.signature if self._vault.tombstones.agree_with(record) else ""
            self._known[record.path] = IndexedFile(signature, record.etag)
            if record.problem:
                self.problems[record.path] = Problem(record.path, record.problem)

    async def reopened(self) -> None:
        """Start over if a damaged or deleted index was replaced by an empty one."""
        if await in_thread(self._is_replaced, what="listing generations"):
            async with self.lock:
                await in_thread(self.open, what="opening the index")

    # -- one note of ours --------------------------------------------------------------------------------------

    async def index_note(self, file: NoteFile) -> bool:
        """Index a note that we have just written, in its version on disk; if that fails, the next sweep does it. True
        if every passage of the index has a vector now."""
        try:
            if len(file.text) > SHORT_CHARS:
                for _ in range(TRIES):
                    cut = await in_thread(self._cut, file, what="cutting a note into chunks")
                    if cut is None:
                        break
                    if (complete := await self._put(file, cut)) is not None:
                        return complete
            # Short, or constantly changed by others, who have to wait this time.
            return await self._put(file) is True
        except BaseException:
            if self._is_known(file):  # or a sweep would skip it
                self.reindex_later(file.record.path)
            raise

    def _cut(self, file: NoteFile) -> PreparedRows | None:
        """Chunk a note in a thread. None if there is nothing to do."""
        return None if self._is_overtaken(file) else self._preparer.latest(file)

    async def _put(self, file: NoteFile, cut: PreparedRows | None = None) -> bool | None:
        """Write a note; None if it has changed since it was chunked."""

        def write() -> tuple[PreparedRows | None, bool | None]:
            if self._is_replaced():
                self.open()
            if cut and not self._vault.is_current(cut.file):
                return None, None
            ready = cut or self._cut(file)
            if ready:
                self._vault.chains.learn(ready.upsert.note.path, ready.upsert.note)
                for target in self._targets:
                    self._index.apply(target.number, [ready.upsert])
            return ready, bool(self.generation.embedding) and not self._index.watermark().vectors_pending

        ready, complete = None, None
        async with self.lock:
            try:
                # This must not be cancelled: a thread cannot be stopped, and the next thread would write at the same
                # time.
                with anyio.CancelScope(shield=True):
                    ready, complete = await in_thread(write, deadline_s=WRITE_S, what="writing the index")
            except BaseException:
                self._known[file.record.path] = IndexedFile("", file.record.etag)
                raise
            if ready:
                path, problem = ready.upsert.note.path, ready.upsert.note.problem
                self._known[path] = ready.known
                self.set_problems([path], {path: Problem(path, problem)} if problem else {})
                self._tell([path])
        await self._follow([ready.upsert.note] if ready else [])
        return complete

    def _is_known(self, file: NoteFile) -> bool:
        known = self._known.get(file.record.path)
        return known is not None and known.etag == file.record.etag

    def _is_overtaken(self, file: NoteFile) -> bool:
        """Return whether the index has a later version, which is the version on disk. When many add to a log at once,
        the first writes the entries of all who wait behind it."""
        known = self._known.get(file.record.path)
        if known is None or self._is_known(file):
            return False  # the same bytes may mean something else now, for instance if their twin was forgotten
        return known.signature.removesuffix("?") == self._vault.signature(file.record.path)

    async def remove_deleted(self, path: NotePath) -> None:
        """Remove the rows of a file that we have just deleted. Raises IndexUnavailable."""
        await self.reopened()
        await self.remove([path], self.indexed_files)

    def reindex_later(self, path: NotePath) -> None:
        """Make the next sweep index this file again, even if unchanged."""
        if was := self._known.get(path):
            self._known[path] = IndexedFile("", was.etag)

    # -- many notes of a sweep ---------------------------------------------------------------------------------

    async def read_and_write(
        self,
        paths: Sequence[NotePath],
        known: Mapping[NotePath, IndexedFile],
        done: Callable[[int], None],
        only: Generation | None = None,
    ) -> int:
        """Index the files that have changed since `known`, or all of them into the one generation `only`. Calls `done`
        after each batch with the number of files; returns how many were written."""
        changed = at = 0

        def is_news(file: NoteFile) -> bool:
            path = file.record.path
            # A file with a problem is checked again even if unchanged.
            was = known.get(path)
            is_known = was is not None and was.etag == file.record.etag and was.signature
            return only is not None or path in self.problems or not is_known

        while at < len(paths):
            rest = islice(paths, at, None)
            batch = await in_thread(self._preparer.batch, rest, is_news, what="reading notes")
            self.set_problems(batch.paths, batch.problems)
            async with self.lock:
                # Notes that we wrote in the meantime are newer than what this sweep read.
                current = [upsert for upsert in batch.upserts if self._is_still(upsert.note.path, known)]
                before = await self._indexed(upsert.note.path for upsert in current if not only)
                await self._apply(current, [only] if only else self._targets)
                if not only:
                    self._known |= {path: now for path, now in batch.known.items() if self._is_still(path, known)}
            notes = [upsert.note for upsert in current]
            for note in notes:
                self._vault.chains.learn(note.path, note)
            if notes and not only:
                self._tell([note.path for note in notes])
                await self._follow([*before, *notes])
            await self.remove([path for path in batch.unusable if path in known], known)
            changed += len(current)
            at += len(batch.paths)
            done(at)
        return changed

    async def remove(
        self, paths: Sequence[NotePath], known: Mapping[NotePath, IndexedFile], only: Generation | None = None
    ) -> None:
        """Remove these files, except those that we have written since `known` was taken."""
        if paths:
            async with self.lock:
                gone = [path for path in paths if only or self._is_still(path, known)]
                before = await self._indexed(gone)
                await self._apply([Delete(path) for path in gone], [only] if only else self._targets)
                if not only:
                    for path in gone:
                        self._known.pop(path, None)
                        self._vault.chains.learn(path, None)
                    self._tell(gone)
            if not only:
                await self._follow(before)

    async def follow_expired(self) -> None:
        """Index the notes again that are active once more because what replaced them has expired."""
        await self._follow(await self._indexed(self._vault.chains.expired()))

    def reread_all_later(self) -> None:
        """Make the next sweep read every file and compare its bytes."""
        self._known = {path: IndexedFile("?" if was.signature else "", was.etag) for path, was in self._known.items()}

    def set_problems(self, paths: Sequence[NotePath], problems: Mapping[str, Problem]) -> None:
        """Set the problems of these files. Makes a new dictionary, because threads read the old one."""
        if problems or not self.problems.keys().isdisjoint(paths):
            others = self.problems.keys() - set(paths)
            self.problems = {path: self.problems[path] for path in others} | dict(problems)

    def update_problems(self, listing: Listing) -> None:
        """Drop the problems of missing files, and add the problems of the listing."""
        still = {path: p for path, p in self.problems.items() if path in listing.files}
        self.problems = still | {p.path: p for p in listing.problems}

    # -- generations -------------------------------------------------------------------------------------------

    def fingerprint(self, embedding: str) -> str:
        """Return the fingerprint of a generation with this chunking and embedder (empty: keywords only)."""
        return f"{self._chunking.fingerprint} passages{PASSAGES_VERSION} | {embedding}"

    def scan(self, generation: Generation) -> Iterator[NoteRecord]:
        """Yield all notes of a generation, in order of path. Synchronous."""
        after: NotePath | None = None
        while page := self._index.scan(generation.number, after):
            yield from page
            after = page[-1].path

    async def write_to(self, built: Generation) -> None:
        """Also write to this generation from now on."""
        async with self.lock:
            self._targets = [self.generation, built]

    async def switch_to(self, built: Generation) -> None:
        """Make this generation active, and write to no other."""
        async with self.lock:
            active = self.generation.number
            await in_thread(self._index.activate, built.number, active, what="activating a generation")
            self._targets = [replace(built, active=True)]

    # -- below -------------------------------------------------------------------------------------------------

    async def _indexed(self, paths: Iterable[NotePath]) -> list[NoteRecord]:
        known = [path for path in paths if path in self._known]
        return await in_thread(lambda: [*filter(None, map(self._index.note, known))], what="looking up notes")

    async def _follow(self, changed: Sequence[NoteRecord]) -> None:
        """Index the notes again that these notes replaced, if their state has changed."""
        outdated = self._preparer.outdated
        for file in await in_thread(outdated, changed, self._index, what="looking at older notes"):
            await self.index_note(file)

    def _tell(self, paths: Sequence[NotePath]) -> None:
        for listener in self.listeners:
            listener(paths)

    def _is_replaced(self) -> bool:
        return not any(known.active and known.number == self.generation.number for known in self._index.generations())

    def _is_still(self, path: NotePath, known: Mapping[NotePath, IndexedFile]) -> bool:
        return self._known.get(path) == known.get(path)

    async def _apply(self, changes: Sequence[Change], targets: Sequence[Generation]) -> None:
        if changes:
            for target in targets:
                await in_thread(
                    lambda number=target.number: self._index.apply(number, changes), what="writing the index"
                )
