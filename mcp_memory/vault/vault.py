"""The vault: Markdown in files, and the only door through which a note is written.

Verbs are synchronous and thread-safe; the engine runs them in worker threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

from mcp_memory.errors import AlreadyExists, InvalidInput, McpMemoryError, NotFound, Refused
from mcp_memory.models import Etag, NoteId, NotePath, NoteRecord, NoteState, Outcome, Problem
from mcp_memory.storage.base import Listing, StorageBackend
from mcp_memory.text.markdown import logs
from mcp_memory.vault import draft as drafts
from mcp_memory.vault import marks
from mcp_memory.vault.append_journal import AppendJournal
from mcp_memory.vault.config import VaultConfig
from mcp_memory.vault.daily_log import DailyLog
from mcp_memory.vault.draft import Draft
from mcp_memory.vault.erase_state import EraseState
from mcp_memory.vault.kinds import LOG, NoteKinds
from mcp_memory.vault.ledger import Ledger
from mcp_memory.vault.marker import MarkerGuard
from mcp_memory.vault.new_note import NotePublisher
from mcp_memory.vault.note_file import Layout, NoteFile, derive_title
from mcp_memory.vault.note_import import NoteImporter
from mcp_memory.vault.ownership import OwnershipTier, may_retire, tier_of
from mcp_memory.vault.patching import FrontmatterPatcher
from mcp_memory.vault.provenance import Provenance
from mcp_memory.vault.reader import Reader
from mcp_memory.vault.retiring import Retirement
from mcp_memory.vault.shared_files import SharedFiles
from mcp_memory.vault.tombstones import Tombstones
from mcp_memory.vault.topic_files import TopicFiles
from mcp_memory.vault.write_result import WriteResult

__all__ = ["Vault", "WriteResult"]


class Vault:
    """One writable back end at the root, read-only ones under `@name/`."""

    def __init__(
        self,
        backend: StorageBackend,
        sources: Mapping[str, StorageBackend],
        *,
        layout: Layout,
        kinds: NoteKinds,
        ledger: Ledger,
        undo: Tombstones,
        recovery: AppendJournal,
        config: VaultConfig,
        clock: Callable[[], datetime],
        guard: MarkerGuard | None = None,
        warnings: Sequence[str] = (),
        leftovers: Sequence[Problem] = (),
        roots: Mapping[str, Path] | None = None,
    ) -> None:
        """`guard` says whether the vault is there, so that it may be written."""
        self.warnings = tuple(warnings)
        """What this file system cannot do, in plain words."""
        self.leftovers = tuple(leftovers)
        """Temporary files of interrupted writes; never removed, since they may hold somebody's save."""
        self.layout = layout
        self.kinds = kinds
        self.ledger = ledger
        self._backend = backend
        self._config = config
        self._clock = clock
        self._guard = guard
        self._roots = dict(roots or {})
        self._undo = undo
        self._traces = EraseState(ledger, undo, recovery)
        self._reader = Reader(
            backend, sources, layout=layout, kinds=kinds, max_note_bytes=config.max_note_bytes, undo=undo
        )
        self._vouching = Provenance(ledger, self._reader)
        self._patcher = FrontmatterPatcher(backend, self._reader, undo)
        self._publisher = NotePublisher(backend, self._reader, ledger, self._vouching, clock)
        self._retiring = Retirement(self._patcher, undo, self._now)
        self._daily_log = DailyLog(backend, self._reader, recovery, self._patcher, clock)
        self.filing = TopicFiles(backend, self._reader, ledger, self._vouching, clock, self._must_be_there)
        self.importing = NoteImporter(
            backend, self._reader, ledger, clock, self._must_be_there, secrets_allowed=self.secrets_allowed
        )
        self.shared = SharedFiles(self._reader, recovery, self._daily_log, lambda: not self.is_away)
        # One lock a content, so that two sessions that say the same thing make one note.
        self._appending = [threading.Lock() for _ in range(64)]
        # And one for all that replaces a note, so that of two at once the second hears of the first.
        self._superseding = threading.Lock()

    # -- reading -----------------------------------------------------------------------------------------------

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written now. Looks at the disk: for worker threads."""
        return self._backend.read_only or (self._guard is not None and self._guard.read_only)

    @property
    def secrets_allowed(self) -> bool:
        return self._config.secrets == "allow"

    @property
    def is_away(self) -> bool:
        """Whether the folder that should be here is not: absent files prove nothing. Looks at the disk."""
        return self._guard is not None and self._guard.vanished

    def roots(self) -> dict[str, Path]:
        """The absolute root folders by the prefix of their paths: `""` is the vault's own, `@name/` a source's."""
        return dict(self._roots)

    def absolute(self, folder: str) -> str:
        """Of a folder as the listing names it: in the vault, or `@name/…` in a source."""
        if folder.startswith("@"):
            name, _, inside = folder.partition("/")
            return f"{self._roots[f'{name}/']}/{inside}".rstrip("/")
        return f"{self._roots['']}/{folder}".rstrip("/")

    def list(self) -> Listing:
        """The vault's files and those of every source, under their `@name/` paths; see `Listing.missing`."""
        return self._reader.list()

    def read(self, path: NotePath) -> NoteFile:
        """Raises NotFound, PathRefused, StorageFailed, and Refused for a file over the size limit."""
        return self._reader.read(path)

    def logs_of(self, day: date) -> Sequence[NotePath]:
        """The files of our daily log of that day, in their order."""
        return self._daily_log.parts(day)

    def is_current(self, file: NoteFile) -> bool:
        """Whether the file on disk is the one that was read. Raises as `read`."""
        return self._reader.stat(file.record.path).signature == file.record.signature

    def signature(self, path: NotePath) -> str:
        """Of the file on disk now. Raises as `read`."""
        return self._reader.stat(path).signature

    def glance(self, path: NotePath) -> str | None:
        """As `signature`, for much less, and None where that is not enough."""
        return self._reader.glance(path)

    def is_gone(self, path: NotePath) -> bool:
        """Whether there is surely no note any more, rather than one that cannot be looked at now."""
        return self._reader.is_gone(path)

    def filed(self, record: NoteRecord) -> NoteFile | None:
        """The note where we have put it since, if it is there."""
        return self._with_id(record.id)

    def _with_id(self, note_id: NoteId) -> NoteFile | None:
        for place in reversed(self.ledger.places_of(note_id)):
            with suppress(McpMemoryError):
                if (file := self.read(place)).record.id == note_id:
                    return file
        return None

    def head_of(self, file: NoteFile) -> NoteFile | None:
        """The note that stands for a superseded one now: the last of those that superseded it, one after the other, and
        are there. None for a note that nothing superseded, or nothing that is left."""
        head, seen = file, {file.record.id}
        while (later := marks.superseded_by(head)) and head.record.state is NoteState.ARCHIVED:
            there = (self._with_id(each) for each in reversed(later) if each not in seen)
            found = next((each for each in there if each and each.record.state is not NoteState.DELETED), None)
            if found is None:
                break
            head = found
            seen.add(found.record.id)
        return None if head is file else head

    def tier(self, path: NotePath, note_id: NoteId) -> OwnershipTier:
        return tier_of(path, layout=self.layout, vouched=self._vouching.vouches(path, note_id))

    # -- writing -----------------------------------------------------------------------------------------------

    def append(self, draft: Draft, *, supersedes: NotePath | None = None, same: Sequence[NotePath] = ()) -> WriteResult:
        """Write one note or log entry, durably; the same content again returns the first.

        `supersedes` is the path of the note that the new one replaces; it stays, marked. `same`: where the index
        knows this content from, say after a move. Raises InvalidInput, Refused, AlreadyExists (for `draft.path`),
        NotFound (for `supersedes`), StorageFailed.
        """
        self._must_be_there()
        drafts.check(
            draft,
            max_bytes=self._config.max_append_bytes,
            secrets_allowed=self.secrets_allowed,
        )
        with self._superseding if supersedes else nullcontext():
            return self._appended(draft, supersedes, same)

    def forget(
        self,
        path: NotePath,
        entry: str | None = None,
        reason: str | None = None,
        by: marks.Caller = marks.UNKNOWN,
    ) -> NoteFile:
        """Mark a note deleted, or list a log entry's hash under `forgotten`; the bytes stay. Idempotent.

        Raises NotFound, Refused (somebody else's note), InvalidInput (a whole log).
        """
        self._must_be_there()
        return self._retiring.forget(self._retirable(path, by), entry, reason, by)

    def restore(self, path: NotePath, entry: str | None = None, by: marks.Caller = marks.UNKNOWN) -> NoteFile:
        """Undo a forget: the very bytes from before where nothing else changed since, else the marks go. Idempotent.

        Raises as `forget`.
        """
        self._must_be_there()
        return self._retiring.restore(self._retirable(path, by), entry)

    def tombstones(self, deleted: Sequence[NotePath]) -> list[marks.Tombstone]:
        """Of these notes, as far as they are forgotten, and of all forgotten log entries that are there; what cannot
        be read now is left out. Reads files: for a worker thread."""
        found: list[marks.Tombstone] = []
        for path in dict.fromkeys([*deleted, *self._undo.logs()]):
            with suppress(McpMemoryError):
                file = self.read(path)
                if file.record.is_log:
                    there = {each.hash: each for each in logs.entries(file.text, file.body_start)}
                    for entry in {*marks.forgotten(file)} & there.keys():
                        title = there[entry].title or file.text[there[entry].start : there[entry].end]
                        found.append(replace(self._undo.stone_of(path, entry), title=derive_title(title)))
                elif file.record.state is NoteState.DELETED:
                    found.append(marks.tombstone(file))
        return found

    def supersede(self, path: NotePath, by: NoteId) -> NoteFile:
        """Mark a note as replaced by another; it stays. Idempotent. Raises as `forget`."""
        self._must_be_there()
        self._replaceable(path)
        return self._patch(path, lambda now: marks.superseded(now, by, self._now()))

    def write_once(self, path: NotePath, data: bytes) -> None:
        """Put a file of ours into a vault that we have just made, where nothing has that name yet."""
        with suppress(AlreadyExists):
            self._backend.write(path, data, None)

    def adopt(self, path: NotePath, *, dry_run: bool = False) -> NoteId | None:
        """Vouch for a note in home that this installation did not write; None where it needs no adoption."""
        file = self.read(path)
        inner = self.layout.below_home(path)
        if inner is None or path.startswith("@"):
            raise Refused(f"{path} is outside home", hint=f"move it below {self.layout.home or 'the vault'} first")
        if file.record.is_log or self._vouching.vouches(path, file.record.id):
            return None  # a log is everybody's, wherever it lies
        if not dry_run:
            self._vouching.adopt(file.record, self._clock())
        return file.record.id

    def adopted(self, path: NotePath) -> list[tuple[NotePath, NoteId]]:
        """Which places `revoke` takes so that the note there, by adoption the agents', is the person's again."""
        note_id = self.read(path).record.id
        return [(place, note_id) for place in self._vouching.adopted(path, note_id)]

    def revoke(self, places: Iterable[tuple[NotePath, NoteId]]) -> None:
        """Take back what `adopt` vouched for at these places. Raises StorageFailed."""
        self._vouching.revoke(places, self._clock())

    def accept(self) -> None:
        """A person says that this folder is the vault, although its marker is gone. Raises StorageFailed."""
        if self._guard:
            self._guard.accept()

    def settle(self) -> list[NotePath]:
        """Look again at what our writes displaced; the paths of new conflict copies."""
        return self._backend.settle()

    def ids_of(self, path: NotePath, file: NoteFile | None, is_known: Callable[[NoteId], bool]) -> set[NoteId]:
        """Under which ids what is (`file`) or was there is known to us; not those of a note that is a copy of another,
        nor of one that has moved away. `is_known`: whether a note with this id is anywhere."""
        if file:
            return {file.record.id} if self._vouching.vouches(path, file.record.id) else set()
        return {each for each in self.ledger.ids_at(path) if not is_known(each)}

    def traces(self, path: NotePath, entry: str | None, ids: Collection[NoteId]) -> list[str]:
        """What the state folder holds about a note or log entry, in a line each."""
        return self._traces.describe(path, entry, ids)

    def erase(self, path: NotePath, entry: str | None = None) -> None:
        """A person wants a file, or the entry of a log, gone for good, whoever it belongs to; `erase_traces` does the
        rest. Raises NotFound, Refused for a file that holds no text, PreconditionFailed, StorageFailed."""
        self._must_be_there()
        blob = self._backend.read(path)
        self._backend.erase(path, blob.etag, marks.without_entry(path, blob.data, entry) if entry else None)

    def erase_traces(self, path: NotePath, entry: str | None, ids: Collection[NoteId]) -> None:
        """Raises StorageFailed."""
        self._backend.erase_displaced(path)  # also where a file that was overwritten holds it no longer
        self._traces.erase(path, entry, ids)

    def standing_leftovers(self) -> list[Problem]:
        """Those that are still there."""
        root = self._roots.get("")
        return [left for left in self.leftovers if root is None or (root / left.path).exists()]

    def original(self, file: NoteFile) -> Etag:
        """The etag of a note's bytes as they were before it was forgotten, if it was."""
        return self._undo.original(file.record.etag)

    def shows(self, record: NoteRecord) -> bool:
        """Whether the record says of what was forgotten what is kept of it for a restore."""
        if self._undo.hides(record.etag) and record.state is not NoteState.DELETED:
            return False
        return self._undo.entries(record.path) <= set(record.meta.get("forgotten", ()))

    @property
    def damaged_undo(self) -> Sequence[Problem]:
        """Files of what was forgotten that cannot be read."""
        return list(self._undo.problems)

    def prune_undo(self, standing: Collection[Etag], paths: Collection[NotePath]) -> int:
        """Drop what no restore can need any more, given all that is in the vault; how much that was."""
        return self._undo.prune(standing, paths, self._clock().date())

    # -- below -------------------------------------------------------------------------------------------------

    def _appended(self, draft: Draft, supersedes: NotePath | None, same: Sequence[NotePath]) -> WriteResult:
        old = self._replaceable(supersedes) if supersedes else None
        with self._appending[int(draft.content_hash[:4], 16) % len(self._appending)]:
            if draft.kind.name == LOG:
                if draft.path or old or draft.created or draft.expires_at:
                    raise InvalidInput(
                        "a log entry has no path and no time but now, never expires, and supersedes nothing",
                        hint="use another kind",
                    )
                return self._daily_log.append(draft)
            again = self._publisher.already_written(draft, same)
            if old and (head := self.head_of(old)) and head.record.id not in {again and again.file.record.id}:
                raise Refused(
                    f"{supersedes} was superseded already, in the end by {head.record.id} ({head.record.path})",
                    hint=f"read that one, then pass supersedes={head.record.id} if yours replaces it",
                )
            stored = again or self._publisher.publish(draft, old.record.id if old else None)
        if supersedes and old and old.record.id != stored.file.record.id:
            by = stored.file.record.id
            try:
                self._patch(supersedes, lambda now: marks.superseded(now, by, self._now()))
            except McpMemoryError:
                if stored.outcome is Outcome.CREATED:
                    with suppress(McpMemoryError):  # somebody has written to it already: it is theirs
                        self._backend.remove_generated(stored.file.record.path, stored.file.record.etag)
                raise
            return replace(stored, outcome=Outcome.SUPERSEDED if stored.outcome is Outcome.CREATED else stored.outcome)
        return stored

    def _replaceable(self, path: NotePath) -> NoteFile:
        """Raises before anything is written where the note could not be marked as superseded."""
        file = self._retirable(path)
        if file.record.is_log:
            raise InvalidInput(f"{path} is a daily log", hint="forget the entry, then append the new one")
        if file.record.state is NoteState.DELETED:
            raise NotFound(f"{path} was forgotten", hint="append without supersedes")
        self._patcher.can_patch(path, marks.superseded(file, NoteId("?"), self._now()))
        return file

    def _retirable(self, path: NotePath, by: marks.Caller = marks.UNKNOWN) -> NoteFile:
        file = self.read(path)
        may_retire(path, self.tier(path, file.record.id), layout=self.layout, by_person=by.is_person)
        return file

    def _patch(self, path: NotePath, changes: Callable[[NoteFile], marks.Changes]) -> NoteFile:
        self._must_be_there()
        return self._patcher.patch(path, changes)

    def _now(self) -> datetime:
        """To the second, as frontmatter has it."""
        return self._clock().replace(microsecond=0)

    def _must_be_there(self) -> None:
        if self._guard:
            self._guard.must_be_there()
