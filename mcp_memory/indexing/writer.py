"""The only code that writes notes to the index.

Its lock is held for the writing alone: files are read and cut before, so whoever has it first makes sure that what
was read is still so. Whoever waits for it gets it in turn: a note that an agent wrote waits for one batch of a sweep
at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
"""How often a note that changes under us is cut anew before others have to wait for it."""

SHORT_CHARS = 16_000
"""A note up to here is cut in a millisecond: nobody minds waiting for that, and it saves a turn of its own."""

WRITE_S = 30.0
"""For writing one note; the largest takes a second."""


class IndexWriter:
    """Writes to the active generation and, while one is built aside, to that too. Remembers what each file was when
    its rows were written."""

    def __init__(self, vault: Vault, index: Index, chunking: ChunkingConfig) -> None:
        self._vault = vault
        self._index = index
        self._chunking = chunking
        self._preparer = RowPreparer(vault, chunking)
        self._lock = anyio.Lock()
        self._known: dict[NotePath, IndexedFile] = {}
        self._targets: list[Generation] = []
        self.problems: dict[str, Problem] = {}
        """Files that could not be used as they are, by path."""
        self.listeners: list[Callable[[Sequence[NotePath]], None]] = []
        """Each is told, in the event loop, which files the index knows anew or no longer."""

    @property
    def generation(self) -> Generation:
        """The one that answers."""
        return self._targets[0]

    @property
    def indexed_files(self) -> dict[NotePath, IndexedFile]:
        """What the index was made from, as of now."""
        return dict(self._known)

    @property
    def indexed_etags(self) -> dict[NotePath, Etag]:
        """The files that the index was made from."""
        return {path: known.etag for path, known in self.indexed_files.items()}

    def is_known(self, path: NotePath, etag: Etag, signature: str) -> bool:
        """Whether these bytes are what the index was made from, and the file with this signature holds them."""
        known = self._known.get(path)
        return known is not None and (known.etag, known.signature.removesuffix("?")) == (etag, signature)

    def open(self) -> None:
        """Take up the active generation, or begin one that answers with keywords, also where the index turns out to be
        damaged. Synchronous."""
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
            # A forget that a crash cut short may be known to the vault alone: such a note is looked at again.
            signature = record.signature if self._vault.agrees_with_tombstones(record) else ""
            self._known[record.path] = IndexedFile(signature, record.etag)
            if record.problem:
                self.problems[record.path] = Problem(record.path, record.problem)

    async def reopened(self) -> None:
        """Start over where the index was replaced under us: a damaged or deleted file makes room for an empty one."""
        if await in_thread(self._is_replaced, what="listing generations"):
            async with self._lock:
                await in_thread(self.open, what="opening the index")

    # -- one note of ours --------------------------------------------------------------------------------------

    async def index_note(self, file: NoteFile) -> bool:
        """Index a note that we have just written; if that fails, the next sweep does it. True where no passage of
        the index is without a vector now.

        Whoever comes second, in whatever order: what is on disk by now is what gets indexed.
        """
        try:
            if len(file.text) > SHORT_CHARS:
                for _ in range(TRIES):
                    cut = await in_thread(lambda: self._cut(file), what="cutting a note into chunks")
                    if cut is None:
                        break
                    if (complete := await self._put(file, cut)) is not None:
                        return complete
            # Short, or written to by others all the time: those have to wait with us for once.
            return await self._put(file) is True
        except BaseException:
            if self._is_known(file):  # by its bytes a sweep would take it for done
                self.doubt(file.record.path)
            raise

    def _cut(self, file: NoteFile) -> PreparedRows | None:
        """In a thread. None where there is nothing to do."""
        return None if self._is_overtaken(file) else self._preparer.latest(file)

    async def _put(self, file: NoteFile, cut: PreparedRows | None = None) -> bool | None:
        """None where the note is another one by now than when it was cut."""

        def write() -> tuple[PreparedRows | None, bool | None]:
            if self._is_replaced():
                self.open()
            if cut and not self._vault.is_current(cut.file):
                return None, None
            ready = cut or self._cut(file)
            if ready:
                for target in self._targets:
                    self._index.apply(target.number, [ready.upsert])
            return ready, bool(self.generation.embedding) and not self._index.watermark().vectors_pending

        ready, complete = None, None
        async with self._lock:
            try:
                # Whoever gives up waiting does so before: a thread cannot be stopped, and the next one would start
                # to write beside it.
                with anyio.CancelScope(shield=True):
                    ready, complete = await in_thread(write, deadline_s=WRITE_S, what="writing the index")
            except BaseException:
                self._known[file.record.path] = IndexedFile("", file.record.etag)
                raise
            if ready:
                path, problem = ready.upsert.note.path, ready.upsert.note.problem
                self._known[path] = ready.known
                self.judge([path], {path: Problem(path, problem)} if problem else {})
                self._tell([path])
            return complete

    def _is_known(self, file: NoteFile) -> bool:
        known = self._known.get(file.record.path)
        return known is not None and known.etag == file.record.etag

    def _is_overtaken(self, file: NoteFile) -> bool:
        """Whether a later version than this one is in the index, and it is the one on disk: of many who add to a log
        at once the first one writes the entries of all who wait behind it."""
        known = self._known.get(file.record.path)
        if known is None or self._is_known(file):
            return False  # the very same bytes may mean something else now: their twin was forgotten, say
        return known.signature.removesuffix("?") == self._vault.signature(file.record.path)

    async def take_out(self, path: NotePath) -> None:
        """Drop the rows of a file that we have just removed. Raises IndexUnavailable."""
        await self.reopened()
        await self.remove([path], self.indexed_files)

    def doubt(self, path: NotePath) -> None:
        """Have the next sweep index this file again, whatever its bytes."""
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
        """Index those of the files that are not as they were `known`; all of them where they go into one generation
        `only`. Tells after each batch how many are `done`; returns how many were written."""
        changed = at = 0

        def is_news(file: NoteFile) -> bool:
            path = file.record.path
            # What was said of a file that is as it was may have been about something else.
            return only is not None or path in self.problems or _is_news(file, known.get(path))

        while at < len(paths):
            rest = islice(paths, at, None)
            batch = await in_thread(lambda rest=rest: self._preparer.batch(rest, is_news), what="reading notes")
            self.judge(batch.paths, batch.problems)
            async with self._lock:
                # What we wrote ourselves in the meantime is newer than what this sweep read.
                current = [each for each in batch.upserts if self._is_still(each.note.path, known)]
                await self._apply(current, [only] if only else self._targets)
                if not only:
                    self._known |= {path: now for path, now in batch.known.items() if self._is_still(path, known)}
            if current and not only:
                self._tell([each.note.path for each in current])
            await self.remove([path for path in batch.unusable if path in known], known)
            changed += len(current)
            at += len(batch.paths)
            done(at)
        return changed

    async def remove(
        self, paths: Sequence[NotePath], known: Mapping[NotePath, IndexedFile], only: Generation | None = None
    ) -> None:
        """Take these out, but for those that we wrote ourselves since `known` was taken."""
        if paths:
            async with self._lock:
                gone = [path for path in paths if only or self._is_still(path, known)]
                await self._apply([Delete(path) for path in gone], [only] if only else self._targets)
                if not only:
                    for path in gone:
                        self._known.pop(path, None)
                    self._tell(gone)

    def distrust(self) -> None:
        """Trust no signature, so that the next sweep reads every file and compares its bytes."""
        self._known = {path: IndexedFile("?" if was.signature else "", was.etag) for path, was in self._known.items()}

    def judge(self, paths: Sequence[NotePath], problems: Mapping[str, Problem]) -> None:
        """These are all the problems that these files have now. A new dictionary: others read it in threads."""
        if problems or not self.problems.keys().isdisjoint(paths):
            others = self.problems.keys() - set(paths)
            self.problems = {path: self.problems[path] for path in others} | dict(problems)

    def report(self, listing: Listing) -> None:
        """Facts about files that are gone are gone too."""
        still = {path: p for path, p in self.problems.items() if path in listing.files}
        self.problems = still | {p.path: p for p in listing.problems}

    # -- generations -------------------------------------------------------------------------------------------

    def fingerprint(self, embedding: str) -> str:
        """Of a generation with this chunking, this engine's passages and that embedder (empty: keywords alone)."""
        return f"{self._chunking.fingerprint} passages{PASSAGES_VERSION} | {embedding}"

    def scan(self, generation: Generation) -> Iterator[NoteRecord]:
        """All notes of a generation, in order of path. Synchronous."""
        after: NotePath | None = None
        while page := self._index.scan(generation.number, after):
            yield from page
            after = page[-1].path

    async def write_to(self, built: Generation) -> None:
        """From now on also to this generation."""
        async with self._lock:
            self._targets = [self.generation, built]

    async def switch_to(self, built: Generation) -> None:
        """Let this generation answer from now on, and write to no other."""
        async with self._lock:
            active = self.generation.number
            await in_thread(lambda: self._index.activate(built.number, active), what="activating a generation")
            self._targets = [replace(built, active=True)]

    # -- below -------------------------------------------------------------------------------------------------

    def _tell(self, paths: Sequence[NotePath]) -> None:
        for listener in self.listeners:
            listener(paths)

    def _is_replaced(self) -> bool:
        known = self._index.generations()
        return all(self.generation.number != each.number or not each.active for each in known)

    def _is_still(self, path: NotePath, known: Mapping[NotePath, IndexedFile]) -> bool:
        return self._known.get(path) == known.get(path)

    async def _apply(self, changes: Sequence[Change], targets: Sequence[Generation]) -> None:
        if changes:
            for target in targets:
                await in_thread(
                    lambda number=target.number: self._index.apply(number, changes), what="writing the index"
                )


def _is_news(file: NoteFile, was: IndexedFile | None) -> bool:
    return was is None or was.etag != file.record.etag or not was.signature
