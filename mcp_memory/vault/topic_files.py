"""Filing: notes moved into topics, and the pages of topics written; whole files only, and never anybody else's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from mcp_memory.errors import NotFound, PathRefused, PreconditionFailed, Refused
from mcp_memory.models import Etag, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.storage.base import StorageBackend
from mcp_memory.storage.path_rules import validate_new
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.link_targets import Redirect, redirected
from mcp_memory.topics.page import PAGE, etag_of
from mcp_memory.vault.journals.ledger import Ledger, LedgerEntry
from mcp_memory.vault.note_file import NoteFile, content_hash
from mcp_memory.vault.ownership import OwnershipTier, Provenance, tier_of
from mcp_memory.vault.reader import Reader

PAGE_KIND = "summary"
"""Of a page in the ledger."""


class TopicFiles:
    """Part of the vault. Thread-safe; each verb may be called again after a crash."""

    def __init__(
        self,
        backend: StorageBackend,
        reader: Reader,
        ledger: Ledger,
        provenance: Provenance,
        clock: Callable[[], datetime],
        must_be_there: Callable[[], None],
    ) -> None:
        """`must_be_there` raises where the vault's folder is away."""
        self._backend = backend
        self._reader = reader
        self._ledger = ledger
        self._provenance = provenance
        self._clock = clock
        self._must_be_there = must_be_there

    def move(self, source: NotePath, target: NotePath, note_id: NoteId) -> NoteFile:
        """One rename; the bytes stay. Where it was done before, the note is read from its new place.

        Raises NotFound where the note is in neither place, Refused for one that we do not vouch for, AlreadyExists
        where the new place is taken, StorageFailed.
        """
        self._must_be_there()
        file = self._at(source, note_id)
        if file is None:
            if moved := self._at(target, note_id):
                return moved
            raise NotFound(f"{source} is not what it was", hint="the next compaction sees what became of it")
        if not self._provenance.vouches(source, note_id):
            raise Refused(f"{source} is a personal note: this installation did not write it")
        record = file.record
        kind = PAGE_KIND if record.state is NoteState.SUMMARY else record.kind
        self._record(note_id, target, record.content_hash, kind, record.project, left=source)
        self._backend.move(source, target)
        return self._reader.read(target)

    def owns(self, file: NoteFile) -> bool:
        """Whether it is the agents' own, so that links in it follow what we move; not where we could not write it back
        as it is."""
        record = file.record
        if record.state is NoteState.SUMMARY:
            return self.is_as_we_wrote(file)
        if record.problem or record.is_log or record.state is NoteState.DELETED:
            return False
        vouched = self._provenance.vouches(record.path, record.id)
        return tier_of(record.path, layout=self._reader.layout, vouched=vouched) is OwnershipTier.AGENT

    def relink(self, path: NotePath, before: str, after: str, redirects: Iterable[Redirect]) -> NoteFile:
        """Change these targets of links in a body (where each begins, what it is, what it is to be), and no other byte.
        `before` and `after` are sha256 of the body; one that is as after already is left alone.

        Raises NotFound, Refused for a file that we do not own, PreconditionFailed, StorageFailed.
        """
        self._must_be_there()
        file = self._reader.read(path)
        if etag_of(file.body.encode()) == after:
            return file
        if etag_of(file.body.encode()) != before:
            raise PreconditionFailed(f"{path} is not what it was", hint="its links stay as they are")
        if not self.owns(file):
            raise Refused(f"{path} is not this installation's own: links in it stay as they are")
        body = redirected(file.body, redirects)
        data = (file.text[: file.body_start] + body).encode()
        record = file.record
        if record.state is NoteState.SUMMARY:
            return self.write_page(path, data, record.etag)
        self._record(record.id, path, content_hash(body), record.kind, record.project, told=record.content_hash)
        written = self._backend.write(path, data, record.etag)
        return self._reader.note(path, data, written.etag, written.stat)

    def revise(self, path: NotePath, text: str, expected: Etag) -> NoteFile:
        """Put another text into a note of ours; `expected` is what it was seen as.

        Raises NotFound, Refused for a file that we do not own, PreconditionFailed, StorageFailed.
        """
        self._must_be_there()
        file = self._reader.read(path)
        if not self.owns(file):
            raise Refused(f"{path} is not this installation's own", hint="edit the file by hand")
        if file.record.etag != expected:
            raise PreconditionFailed(f"{path} has changed since it was looked at", hint="look at it again")
        data = text.encode()
        record = self._reader.note(path, data, expected, self._reader.stat(path)).record
        self._record(record.id, path, record.content_hash, record.kind, record.project)
        written = self._backend.write(path, data, expected)
        return self._reader.note(path, data, written.etag, written.stat)

    def write_page(self, path: NotePath, data: bytes, expected: Etag | None) -> NoteFile:
        """Put a page under its name; `expected` as for `StorageBackend.write`. Raises as that does."""
        self._must_be_there()
        page_id = NoteId(str(frontmatter.parse(data.decode()).meta["id"]))
        self._record(page_id, path, etag_of(data), PAGE_KIND, None)
        written = self._backend.write(path, data, expected)
        return self._reader.note(path, data, written.etag, written.stat)

    def remove_page(self, path: NotePath, expected: Etag) -> None:
        """Raises NotFound, PreconditionFailed where it is not as we wrote it, StorageFailed."""
        self._must_be_there()
        self._backend.remove_generated(path, expected)
        self._backend.settle(min_age_s=0, path=path)  # else it is held for a while, and its folder with it

    def remove_folder(self, folder: NotePath) -> bool:
        """False where something is in it; what its page was before, which is held for a while, is not."""
        self._backend.settle(min_age_s=0, path=NotePath(f"{folder}/{PAGE}"))
        return self._backend.rmdir_empty(folder)

    def is_as_we_wrote(self, page: NoteFile) -> bool:
        """Whether a page is as we wrote it, to the byte: a person's own edit is respected."""
        return self.is_as_written(page.record)

    def is_as_written(self, page: NoteRecord) -> bool:
        """The same of a page that the index knows."""
        return bool(self._ledger.written(page.etag, PAGE_KIND, None))

    def made_by_us(self, path: NotePath, page: NoteRecord | None = None) -> bool:
        """Whether we ever wrote a page at this path, so that its folder is a topic of ours; or it is the `page` that we
        wrote elsewhere, since a person gave the folder another name."""
        if PAGE_KIND in self._ledger.kinds_at(path):
            return True
        return page is not None and self._is_page(page.id) and self._provenance.vouches(path, page.id)

    def is_named_by_us(self, page: NoteRecord) -> bool:
        """Whether the page has never been where we did not put it, so that its folder's name is ours."""
        return self._ledger.places_of(page.id) == [page.path]

    def may_move(self, path: NotePath, note_id: NoteId) -> bool:
        """Whether it is a note of ours, under a name that we would give."""
        try:
            validate_new(path)
        except PathRefused:
            return False
        return self._provenance.vouches(path, note_id)

    def _is_page(self, page_id: NoteId) -> bool:
        places = self._ledger.places_of(page_id)
        return bool(places) and PAGE_KIND in self._ledger.kinds_at(places[-1])

    def _at(self, path: NotePath, note_id: NoteId) -> NoteFile | None:
        try:
            file = self._reader.read(path)
        except NotFound:
            return None
        return file if file.record.id == note_id and file.record.state is not NoteState.DELETED else None

    def _record(
        self,
        note_id: NoteId,
        path: NotePath,
        content: str,
        kind: str,
        project: str | None,
        left: NotePath | None = None,
        told: str | None = None,
    ) -> None:
        """Before the file is there: a crash in between leaves a place known where nothing is."""
        at = self._clock().timestamp()
        first = self._ledger.first(note_id, told or content)
        now = content if content != first else None
        self._ledger.record(LedgerEntry(note_id, path, first, kind, project, None, at, left, now))
