"""Move notes into topics and write the pages of topics: whole files, and only our own."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from mcp_memory.errors import AlreadyExists, NotFound, PathRefused, PreconditionFailed, Refused
from mcp_memory.models import Etag, NoteId, NotePath, NoteRecord, NoteState, etag_of
from mcp_memory.storage.path_rules import validate_new
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.link_targets import Redirect, redirected
from mcp_memory.topics.page import PAGE
from mcp_memory.topics.page_parts import TITLE, Parts, hash_title, known_lines, own_text
from mcp_memory.topics.topic_tree import PageState
from mcp_memory.vault.journals.ledger import Ledger, LedgerEntry
from mcp_memory.vault.new_note import name_tails
from mcp_memory.vault.note_file import NoteFile, content_hash, is_memory
from mcp_memory.vault.note_store import NoteStore
from mcp_memory.vault.ownership import PAGE_KIND, SHARED, TITLED, Provenance, tier_of


@dataclass(frozen=True)
class TopicFiles:
    """The files of topics, a part of the vault. Thread-safe; each verb may be called again after a crash."""

    notes: NoteStore
    ledger: Ledger
    provenance: Provenance

    def move(self, source: NotePath, target: NotePath, note_id: NoteId) -> NoteFile:
        """Rename a note's file, unless that was done before.

        Raises NotFound if the note is in neither place, Refused if it is not ours, AlreadyExists if the new place is
        taken, StorageFailed."""
        self.notes.require_vault()
        file = self._find(source, note_id)
        if file is None:
            if moved := self._find(target, note_id):
                return moved
            raise NotFound(f"{source} is not what it was", hint="the next compaction finds where it is")
        if not self.provenance.vouches(source, note_id):
            raise Refused(f"{source} is a personal note: this installation did not write it")
        record = file.record
        kind = PAGE_KIND if record.state is NoteState.SUMMARY else record.kind
        self.record(note_id, target, record.content_hash, kind, record.project, left=source)
        return self.notes.move(source, target)

    def move_to_free(self, file: NoteFile, place: str) -> NoteFile:
        """Rename a note's file to the first free name of this place in the managed folder. Raises as `move`."""
        record = file.record
        for tail in name_tails(record.id):
            with suppress(AlreadyExists):
                return self.move(record.path, self.notes.layout.in_home(f"{place}{tail}.md"), record.id)
        raise AlreadyExists(f"every name for {record.path} is taken", hint="give it another title")

    def owns(self, file: NoteFile) -> bool:
        """Return whether the note is the agents' own, so that we may rewrite its links, and could write it back as it
        is."""
        record = file.record
        if record.state is NoteState.SUMMARY:
            return self.is_as_we_wrote(file) or bool(self.ledger.parts(record.id))
        if record.problem or record.is_log or record.state is NoteState.DELETED:
            return False
        vouched = self.provenance.vouches(record.path, record.id)
        return tier_of(record.path, layout=self.notes.layout, vouched=vouched) == "agent"

    def may_relink(self, file: NoteFile) -> bool:
        """Return whether a person may have links rewritten in the note. Logs are excluded, since the id of an entry is
        a hash of its text."""
        record = file.record
        is_read_only = record.path.startswith("@") or record.state in {NoteState.DELETED, NoteState.SUMMARY}
        return not (is_read_only or record.problem or record.is_log or is_memory(record.path))

    def relink(
        self,
        path: NotePath,
        before: str,
        after: str,
        redirects: Iterable[Redirect],
        *,
        is_whole: bool,
        is_personal: bool,
    ) -> NoteFile:
        """Rewrite these link targets in a body and change no other byte, unless that was done before. `before` and
        `after` are sha256 of the body. If `is_whole`, they and all places refer to the whole text. `is_personal`: a
        person allows a file that we do not own.

        Raises NotFound, Refused for a file that we do not own, PreconditionFailed, StorageFailed."""
        self.notes.require_vault()
        file = self.notes.read(path)
        start = 0 if is_whole else file.body_start
        if etag_of(file.text[start:].encode()) == after:
            return file
        if etag_of(file.text[start:].encode()) != before:
            raise PreconditionFailed(f"{path} is not what it was", hint="its links stay as they are")
        is_ours = self.owns(file)
        if not is_ours and not (is_personal and self.may_relink(file)):
            raise Refused(f"{path} is not this installation's own: links in it stay as they are")
        data = (file.text[:start] + redirected(file.text[start:], redirects)).encode()
        record = file.record
        if not is_ours:
            return self.notes.write(path, data, record.etag)
        body = self.notes.note(path, data, record.etag, self.notes.stat(path)).body
        if record.state is NoteState.SUMMARY:
            return self.write_page(path, data, record.etag)
        self.record(record.id, path, content_hash(body), record.kind, record.project, was=record.content_hash)
        return self.notes.write(path, data, record.etag)

    def revise(self, path: NotePath, text: str, expected: Etag) -> NoteFile:
        """Replace the text of a note of ours; `expected` is the etag that you read.

        Raises NotFound, Refused for a file that we do not own, PreconditionFailed, StorageFailed."""
        self.notes.require_vault()
        file = self.notes.read(path)
        if not self.owns(file):
            raise Refused(f"{path} is not this installation's own", hint="edit the file by hand")
        if file.record.etag != expected:
            raise PreconditionFailed(f"{path} has changed since it was read", hint="read it again")
        data = text.encode()
        record = self.notes.note(path, data, expected, self.notes.stat(path)).record
        self.record(record.id, path, record.content_hash, record.kind, record.project)
        return self.notes.write(path, data, expected)

    def write_page(self, path: NotePath, data: bytes, expected: Etag | None, parts: Parts | None = None) -> NoteFile:
        """Write a page. `parts`: the parts of a topic's page as we made it, without your own words in it. `expected`
        and errors as for `StorageBackend.write`."""
        self.notes.require_vault()
        text = data.decode()
        meta = frontmatter.parse(text).meta
        page_id = NoteId(str(meta["id"]))
        made = [*self.ledger.parts(page_id), *([parts] if parts is not None else [])]
        content = etag_of(data)
        if made and own_text(text, made):
            content = f"{SHARED} {content}"
        elif made and hash_title(meta.get("title")) not in known_lines(made):
            content = f"{TITLED} {content}"
        self.record(page_id, path, content, PAGE_KIND, None, parts=parts)
        try:
            return self.notes.write_made(path, data, expected)
        except PreconditionFailed:
            if parts is not None and made[:-1]:
                self.record(page_id, path, content, PAGE_KIND, None, parts=made[-2])
            raise

    def refresh_page(self, path: NotePath, data: bytes) -> NoteFile | None:
        """Write a page that only we write, unless you have changed, forgotten, archived or removed it, or it has these
        bytes already. Return it if it was written. Raises StorageFailed."""
        page = self.notes.find(path)
        if page is None:
            return None if self.made_by_us(path) else self.write_page(path, data, None)
        if page.record.etag == etag_of(data) or not self.is_as_we_wrote(page):
            return None
        return self.write_page(path, data, page.record.etag)

    def edit_plain(self, path: NotePath, edited: Callable[[str], str]) -> NoteFile:
        """Replace the text of a file for people by the result of `edited`. Raises the errors of `NoteStore.change`."""
        self.notes.require_vault()
        return self.notes.change(path, lambda _, text: edited(text))

    def remove_page(self, path: NotePath, expected: Etag) -> None:
        """Remove a page. Raises NotFound, PreconditionFailed if it is not as we wrote it, StorageFailed."""
        self.notes.require_vault()
        self.notes.remove_generated(path, expected)
        self.notes.backend.settle(min_age_s=0, path=path)  # else it is held for a while, and so is its folder

    def remove_folder(self, folder: NotePath) -> bool:
        """Remove a folder; False if it is not empty. Earlier versions of its page, which are kept for a while, are
        ignored."""
        self.notes.backend.settle(min_age_s=0, path=NotePath(f"{folder}/{PAGE}"))
        return self.notes.backend.rmdir_empty(folder)

    def is_as_we_wrote(self, page: NoteFile) -> bool:
        """Return whether a page is as we wrote it, to the byte: we don't overwrite your edits."""
        return self.is_as_written(page.record)

    def is_as_written(self, page: NoteRecord) -> bool:
        """Return whether the indexed page is as we wrote it."""
        return bool(self.ledger.written(page.etag, PAGE_KIND, None))

    def page_state(self, page: NoteRecord) -> PageState:
        """Return which parts of a page, as the index has it, are yours."""
        if self.is_as_written(page):
            return PageState()
        titles = {title for parts in self.ledger.parts(page.id) for title in parts.get(TITLE, ())}
        is_titled = hash_title(page.title) not in titles
        return PageState(not self.ledger.written(f"{TITLED} {page.etag}", PAGE_KIND, None), is_titled)

    def folder_before(self, page: NoteRecord) -> str | None:
        """Return the name that the folder of this page had, if another program or you have renamed it since we wrote
        there."""
        last = self.ledger.places_of(page.id)[-1:]
        if not last or last[0] == page.path or not self.provenance.vouches(page.path, page.id):
            return None
        before = last[0].split("/")[-2]
        return None if before == page.path.split("/")[-2] else before

    def made_by_us(self, path: NotePath, page: NoteRecord | None = None) -> bool:
        """Return whether we ever wrote a page at this path, so that its folder is a topic of ours. It is also true if
        we wrote the `page` at another path, since you may have renamed the folder."""
        try:
            validate_new(path)
        except PathRefused:
            return False  # nothing could be moved there
        if PAGE_KIND in self.ledger.kinds_at(path):
            return True
        places = self.ledger.places_of(page.id) if page else []
        if not page or not places or PAGE_KIND not in self.ledger.kinds_at(places[-1]):
            return False
        return self.provenance.vouches(path, page.id)

    def is_named_by_us(self, page: NoteRecord) -> bool:
        """Return whether the page is where we put it and was never elsewhere, so that its folder's name is ours."""
        return self.ledger.places_of(page.id) == [page.path]

    def may_move(self, path: NotePath, note_id: NoteId) -> bool:
        """Return whether it is a note of ours, under a name that we could give."""
        try:
            validate_new(path)
        except PathRefused:
            return False
        return self.provenance.vouches(path, note_id)

    def _find(self, path: NotePath, note_id: NoteId) -> NoteFile | None:
        file = self.notes.find(path)
        if file and file.record.id == note_id and file.record.state is not NoteState.DELETED:
            return file
        return None

    def record(
        self,
        note_id: NoteId,
        path: NotePath,
        content: str,
        kind: str,
        project: str | None,
        left: NotePath | None = None,
        was: str | None = None,
        parts: Parts | None = None,
    ) -> None:
        """Record the file before it is written: a crash in between leaves a known place without a file."""
        at = self.notes.clock().timestamp()
        first = self.ledger.first(note_id, was or content)
        now = content if content != first else None
        self.ledger.record(LedgerEntry(note_id, path, first, kind, project, None, at, left, now, parts=parts))
