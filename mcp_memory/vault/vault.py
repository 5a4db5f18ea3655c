"""Read and write the notes of a vault. No other code writes them.

Verbs are synchronous and thread-safe; the engine runs them in worker threads. Over 300 lines because it has all verbs.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from ulid import ULID

from mcp_memory.errors import AlreadyExists, InvalidInput, McpMemoryError, Refused
from mcp_memory.models import Etag, NoteId, NotePath, NoteRecord, NoteState, Outcome, Problem
from mcp_memory.storage.base import Listing, Prepared, StorageBackend
from mcp_memory.vault import draft as drafts
from mcp_memory.vault.config import LOG, VaultConfig
from mcp_memory.vault.draft import Draft, WriteResult
from mcp_memory.vault.journals.change_journal import DECISION, NoteChange, acting, current_caller
from mcp_memory.vault.journals.ledger import NoteJournals
from mcp_memory.vault.journals.tombstones import UNKNOWN, Caller, Tombstone
from mcp_memory.vault.marker import Marker
from mcp_memory.vault.marks.privacy import PRIVATE
from mcp_memory.vault.new_note import NotePublisher
from mcp_memory.vault.note_edits import NoteEditor
from mcp_memory.vault.note_file import ARCHIVE, NoteFile, is_memory
from mcp_memory.vault.note_import import NoteImporter
from mcp_memory.vault.note_store import NoteStore
from mcp_memory.vault.ownership import OwnershipTier, Provenance, may_retire, tier_of
from mcp_memory.vault.project_state import PROGRESS, is_state, with_progress
from mcp_memory.vault.shared.daily_log import DailyLog
from mcp_memory.vault.shared.log_copies import LogCopies
from mcp_memory.vault.shared.lost_entries import SharedFiles
from mcp_memory.vault.shared.memory_file import Fits, MemoryFile
from mcp_memory.vault.succession.chains import Chains
from mcp_memory.vault.succession.entry_marks import entry_note
from mcp_memory.vault.succession.retirement import Retirement, remove_entry
from mcp_memory.vault.topic_files import TopicFiles


class Vault:
    """The verbs on a vault's notes; `roots` are the absolute folders of the vault (`""`) and its sources (`@name/`)."""

    def __init__(
        self,
        notes: NoteStore,
        journals: NoteJournals,
        config: VaultConfig,
        roots: Mapping[str, Path],
        prepared: Prepared = Prepared(),  # noqa: B008 -- frozen
    ) -> None:
        self.warnings = prepared.warnings
        self.leftovers = prepared.leftovers  # never removed: they may be an editor's save
        self.layout = notes.layout
        self.kinds = notes.kinds
        self.clock = notes.clock
        self.ledger = journals.ledger
        self.changes = journals.changes
        self._notes = notes
        self._config = config
        self._guard = notes.guard
        self._roots = dict(roots)
        self.journals = journals
        self.tombstones = journals.tombstones
        self.provenance = Provenance(notes, self.ledger)
        self.chains = notes.chains = Chains(notes, self.ledger)
        self._publisher = NotePublisher(notes, self.ledger, self.provenance)
        self._retirement = Retirement(notes, self.tombstones)
        self.daily_log = DailyLog(notes, journals.appends, self._retirement)
        self.filing = TopicFiles(notes, self.ledger, self.provenance)
        self.importing = NoteImporter(notes, self.ledger, secrets_allowed=self.secrets_allowed)
        self.editing = NoteEditor(notes, journals.appends, secrets_allowed=self.secrets_allowed)
        self._memory = MemoryFile(notes, journals.appends, self.tombstones, self.provenance)
        self.log_copies = LogCopies(notes)
        self.shared = SharedFiles(notes, journals.appends, self.daily_log, self._memory)
        # Locks by content, so that two sessions that append the same text make a single note.
        self._appending = [threading.Lock() for _ in range(64)]
        # A lock for all changes of chains. If two notes supersede the same note, the second change sees the first.
        self._superseding = threading.Lock()

    @property
    def backend(self) -> StorageBackend:
        """The storage of the vault's own files."""
        return self._notes.backend

    def on_write(self, changed: Callable[[NotePath], None]) -> None:
        """Call `changed` with every file that is changed from then on."""
        self._notes.on_write = changed

    @property
    def read_only(self) -> bool:
        """Return whether nothing can be written now. Reads the disk: for worker threads."""
        return self.backend.read_only or (self._guard is not None and self._guard.read_only)

    @property
    def secrets_allowed(self) -> bool:
        return self._config.secrets == "allow"

    @property
    def is_away(self) -> bool:
        return self._notes.is_away

    @property
    def marker(self) -> Marker:
        """The vault's id and managed folder."""
        return self._guard.marker if self._guard else Marker("", self.layout.home)

    def roots(self) -> dict[str, Path]:
        """The absolute root folders by the prefix of their paths: `""` for the vault, `@name/` for a source."""
        return dict(self._roots)

    def absolute(self, folder: str) -> str:
        """Return the absolute path of a folder of the vault, or of a source (`@name/…`)."""
        if folder.startswith("@"):
            name, _, inside = folder.partition("/")
            return f"{self._roots[f'{name}/']}/{inside}".rstrip("/")
        return f"{self._roots['']}/{folder}".rstrip("/")

    def list(self) -> Listing:
        """List the files, as `NoteStore.list` does."""
        return self._notes.list()

    def read(self, path: NotePath) -> NoteFile:
        """Read a note. Raises NotFound, PathRefused, StorageFailed."""
        return self._notes.read(path)

    def find(self, path: NotePath) -> NoteFile | None:
        """Read a note, or return None if there is no such file. Raises PathRefused, StorageFailed."""
        return self._notes.find(path)

    def is_current(self, file: NoteFile) -> bool:
        """Return whether the file on disk is the one that was read. Raises the errors of `read`."""
        return self.signature(file.record.path) == file.record.signature

    def signature(self, path: NotePath) -> str:
        """Return the signature of the file on disk now. Raises as `read`."""
        return self._notes.stat(path).signature

    def glance(self, path: NotePath) -> str | None:
        """Return the signature cheaply, and None if that fails."""
        return self._notes.glance(path)

    def is_gone(self, path: NotePath) -> bool:
        """Return whether the note surely doesn't exist, rather than can't be read now."""
        return self._notes.is_gone(path)

    def is_own_change(self, path: NotePath, etag: Etag | None, since: float) -> bool:
        """Return whether a change is our own, as `ChangeJournal.is_ours` does; also true for pages, and for files
        outside the vault."""
        return path.startswith("@") or self._notes.is_page(path) or self.changes.is_ours(path, etag, since)

    def tier(self, path: NotePath, note_id: NoteId) -> OwnershipTier:
        return tier_of(path, layout=self.layout, vouched=self.provenance.vouches(path, note_id))

    def append(
        self, draft: Draft, *, supersedes: NotePath | None = None, entry: str | None = None,
        same: Sequence[NotePath] = (), fits: Fits = bool,
    ) -> WriteResult:  # fmt: skip
        """Store a note or entry durably; the same content again returns the first note.

        `supersedes` is the path of the note, or of the log with the `entry`, that the new note replaces. The old note
        stays, marked. If it was superseded already, the new note replaces the head of its chain, so that no call is
        lost and no chain forks. `same`: where the index has this content. `fits`: as for `MemoryFile.append`. Raises
        InvalidInput, Refused, AlreadyExists (for `draft.path`), NotFound (for `supersedes`), StorageFailed."""
        self._notes.require_vault()
        drafts.check(draft, secrets_allowed=self.secrets_allowed)
        if draft.path == self.layout.memory:
            return self._memory.append(draft, fits)
        path = NotePath(draft.path or "")
        if draft.etag or is_state(path, self.layout, PROGRESS):
            file = self.read(path) if draft.etag else self.find(path)
            if file:
                return self._change(draft, file)
        with self._superseding if supersedes else nullcontext():
            old = self._replaceable(supersedes, entry) if supersedes else None
            if old and old.record.is_private:
                draft = replace(draft, tags=(*draft.tags, PRIVATE))
            return self._append(draft, old, entry, same)

    def forget(
        self, path: NotePath, entry: str | None = None, reason: str | None = None, by: Caller = UNKNOWN
    ) -> NoteFile:
        """Mark a note as deleted, or list a log entry's hash under `forgotten`; the bytes stay. An entry of `MEMORY.md`
        is taken out and kept. Idempotent.

        Raises NotFound, Refused (not the agents' note), InvalidInput (a whole log)."""
        self._notes.require_vault()
        if is_memory(path) and entry:
            return self._memory.forget(entry, reason, by)
        with self._superseding:
            return self._retirement.forget(self._out_of_inbox(path, by), entry, reason, by)

    def restore(self, path: NotePath, entry: str | None = None, by: Caller = UNKNOWN) -> NoteFile:
        """Undo a forget or `archive`: restore the old bytes, or if the note has changed since, remove the marks. If
        another note has taken its place in the chain, it comes back superseded by that note. Idempotent.

        Raises as `forget`."""
        self._notes.require_vault()
        if is_memory(path) and entry:
            return self._memory.restore(entry, by)
        with self._superseding:
            file = self._retirable(path, by)
            holding = None if entry else self.chains.holding(file)
            file = self._retirement.restore(file, entry)
            if waiting := self.layout.in_inbox(self.layout.before_archive(path)):
                return self.filing.move_to_free(file, waiting)
            is_rival = holding and self.read(holding.record.path).record.state is file.record.state is NoteState.ACTIVE
            if not (holding and is_rival):
                return file
            if holding.record.id in file.record.supersedes:  # whose mark is gone, as after `undo`
                with suppress(McpMemoryError):
                    self._retirement.supersede(self._replaceable(holding.record.path).record.path, file.record.id)
                    return file
            return self._retirement.supersede(path, holding.record.id)

    def archive(
        self, path: NotePath, entry: str | None = None, by: Caller = UNKNOWN, *, done: bool = False
    ) -> NoteFile:
        """Mark a note as archived, or with `done` as a commitment that was kept: only searches for archived notes find
        it. Idempotent. Raises as `forget`."""
        self._notes.require_vault()
        return self._retirement.archive(self._out_of_inbox(path, by), entry, done=done)

    def list_tombstones(self, deleted: Sequence[NotePath]) -> list[Tombstone]:
        """Return the tombstones of the forgotten notes among these, and of all forgotten log entries, without those
        that can't be read now. Reads files: for a worker thread."""
        found: list[Tombstone] = []
        for path in dict.fromkeys([*deleted, *self.tombstones.logs()]):
            with suppress(McpMemoryError):
                found += self._retirement.list_tombstones(self.read(path))
        return found

    def supersede(self, path: NotePath, by: NoteId, entry: str | None = None, caller: Caller = UNKNOWN) -> NoteFile:
        """Mark a note or log entry as replaced by another; it stays. Idempotent. Raises as `forget`."""
        self._notes.require_vault()
        with self._superseding:
            self._replaceable(path, entry, caller)
            return self._retirement.supersede(path, by, entry)

    def reinstate(self, path: NotePath, change: NoteChange, data: bytes | None) -> NoteFile:
        """Take back that a note superseded this note, or an entry of this log. `data`: the earlier bytes, if they are
        known. Idempotent."""
        self._notes.require_vault()
        with self._superseding:
            return self._retirement.reinstate(path, change, data)

    def mark_compatible(self, path: NotePath, mark: str, caller: Caller) -> NoteFile:
        """Mark a note as compatible with the note with this id or, by `ENTRY=ID`, an entry of a log, so that both stay
        active. Idempotent. Raises the errors of `forget`."""
        self._notes.require_vault()
        self._retirable(path, caller)
        return self._retirement.add_mark(path, "compatible_with", mark)

    def confirm(self, path: NotePath, entry: str | None, caller: Caller = UNKNOWN) -> NoteFile:
        """Note in a note's or log's head that you looked at it today and confirmed it. Raises as `forget`."""
        self._notes.require_vault()
        self._retirable(path, caller)
        today = self.clock().date().isoformat()
        return self._retirement.add_mark(path, "confirmed", f"{entry}={today}" if entry else today)

    def accept(self) -> None:
        """Write the marker again if it has gone: you confirm that this folder is the vault. Raises StorageFailed."""
        if self._guard:
            self._guard.accept()

    def erase(self, path: NotePath, entry: str | None = None) -> None:
        """Delete a file or a log entry for good, whoever it belongs to; `erase_traces` does the rest.

        Raises NotFound, Refused for a file that isn't text, PreconditionFailed, StorageFailed."""
        self._notes.require_vault()
        blob = self.backend.read(path)
        self.backend.erase(path, blob.etag, remove_entry(path, blob.data, entry) if entry else None)
        self._notes.on_write(path)

    def erase_traces(self, path: NotePath, entry: str | None, ids: Collection[NoteId]) -> None:
        """Erase all traces of a note or log entry. Raises StorageFailed."""
        self.backend.erase_displaced(path)  # even if the file itself no longer has it
        self.journals.erase(path, entry, ids)

    def standing_leftovers(self) -> list[Problem]:
        """Return the leftovers that still exist."""
        return [left for left in self.leftovers if os.path.exists(self._roots[""] / left.path)]  # noqa: PTH110

    def _append(self, draft: Draft, named: NoteFile | None, entry: str | None, same: Sequence[NotePath]) -> WriteResult:
        with self._appending[int(draft.content_hash[:4], 16) % len(self._appending)]:
            if draft.kind.name == LOG:
                if draft.path or named or draft.created or draft.expires_at or draft.when:
                    what = "a log entry has no path, `when` or time but now, never expires, and supersedes nothing"
                    raise InvalidInput(what, hint="use another kind")
                return self.daily_log.append(draft)
            again = self._publisher.already_written(draft, same, replaces=named is not None)
            if named is None and again and not again.holding and self._says_more(draft, again.file.record):
                named, again = again.file, None
            if named is None:
                return again or self._publisher.publish(draft, None)
            later = self.chains.later(named)
            repeated = (WriteResult(note, Outcome.DUPLICATE) for note in later if draft.is_stored_as(note.record))
            again = again or next(repeated, None)
            if again and again.file.record.id in (note.record.id for note in (named, *later)):
                holding = later[-1] if later and later[-1].record.id != again.file.record.id else None
                return replace(again, holding=holding)
            old = self._replaceable(later[-1].record.path) if later else named
            heir = draft if draft.when else replace(draft, when=old.record.when)
            stored = again or self._publisher.publish(heir, old.record.id)
        try:
            self._notes.require_vault()
            decision = Caller(run=f"{DECISION}-{ULID()}") if again else UNKNOWN  # undone, it leaves `again` as it was
            with acting(decision):
                self._retirement.supersede(old.record.path, stored.file.record.id, entry if old is named else None)
        except McpMemoryError:
            if stored.outcome is Outcome.CREATED:
                with suppress(McpMemoryError):  # unless another program has written to it already
                    self._notes.remove_generated(stored.file.record.path, stored.file.record.etag)
            raise
        return replace(stored, outcome=Outcome.SUPERSEDED if again is None else again.outcome, replaced=old)

    def _change(self, draft: Draft, file: NoteFile) -> WriteResult:
        """Replace the text of a note that has the draft's etag, but not its head. Without an etag, add a dated entry
        to it. Raises the errors of `append`, and PreconditionFailed for another etag."""
        if file.record.is_log or draft.title or draft.tags or draft.when or draft.due or draft.expires_at or draft.more:
            raise InvalidInput(
                "only the text of a note can be changed", hint="leave out all but content, path and etag"
            )
        if draft.etag:
            self._retirable(file.record.path, current_caller())
            text, etag = f"\n{draft.content}", draft.etag  # a text that begins with a line break has no head
        else:
            text, etag = with_progress(file.text, draft.content, self.clock()), file.record.etag
        return self.editing.edit(file.record.path, None, text, etag)

    def _says_more(self, draft: Draft, note: NoteRecord) -> bool:
        """Return whether a draft of the same content has a due date or phrases under `when` that the note lacks."""
        has_new_phrases = draft.when and not note.when and not draft.once
        is_ours = self.tier(note.path, note.id) == "agent"
        return is_ours and bool(has_new_phrases or (draft.due and "due" not in note.meta))

    def _replaceable(self, path: NotePath, entry: str | None = None, caller: Caller = UNKNOWN) -> NoteFile:
        """Return the note, or the entry as a note. Raises before anything is written if it could not be marked as
        superseded."""
        file = self._retirable(path, caller)
        self._retirement.check_supersede(file, entry)
        return (entry_note(file, entry) if entry else None) or file

    def _out_of_inbox(self, path: NotePath, by: Caller) -> NoteFile:
        """Return a note that is retired, and move a proposal to the archive. A file that a person wrote stays."""
        file = self._retirable(path, by)
        if waiting := self.layout.in_inbox(path):
            with suppress(AlreadyExists, Refused):
                return self.filing.move_to_free(file, f"{ARCHIVE}/{waiting}")
        return file

    def _retirable(self, path: NotePath, by: Caller) -> NoteFile:
        file, layout = self.read(path), self.layout
        is_order = self.provenance.is_standing_order(file.record)
        may_retire(path, self.tier(path, file.record.id), layout=layout, by_person=by.is_person, is_order=is_order)
        return file
