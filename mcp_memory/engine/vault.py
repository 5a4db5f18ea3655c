"""The vault: Markdown in files, and the only door through which a note is written.

Verbs are synchronous and thread-safe; the engine runs them in worker threads.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ulid import ULID

from mcp_memory.engine import draft as drafts
from mcp_memory.engine import marks
from mcp_memory.engine.config import VaultConfig
from mcp_memory.engine.draft import Draft
from mcp_memory.engine.kinds import LOG, Kinds
from mcp_memory.engine.ledger import Ledger, LedgerEntry
from mcp_memory.engine.notes import ALWAYS_LOAD, Layout, NoteFile, read_note, slug
from mcp_memory.engine.ownership import Tier, may_retire, tier_of
from mcp_memory.engine.undo import Undo
from mcp_memory.errors import (
    AlreadyExists,
    InvalidInput,
    NotFound,
    PathRefused,
    PreconditionFailed,
    Refused,
    StorageFailed,
)
from mcp_memory.models import Etag, FileStat, NoteId, NotePath, Outcome, Problem, Shelf
from mcp_memory.storage.base import Blob, Listing, StorageBackend, Written
from mcp_memory.storage.paths import validate_new
from mcp_memory.text import frontmatter, logs

ATTEMPTS = 200
"""How often a compare-and-swap is tried again when other writers are faster."""

SAME_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Stored:
    """A note as it stands after a write; `entry` is the hash of the log entry that was written."""

    file: NoteFile
    outcome: Outcome
    entry: str | None = None
    conflict: NotePath | None = None


class Vault:
    """One writable back end at the root, read-only ones under `@name/`."""

    def __init__(
        self,
        backend: StorageBackend,
        sources: Mapping[str, StorageBackend],
        *,
        layout: Layout,
        kinds: Kinds,
        ledger: Ledger,
        undo: Undo,
        config: VaultConfig,
        clock: Callable[[], datetime],
        marker: Path | None = None,
        warnings: Sequence[str] = (),
        leftovers: Sequence[Problem] = (),
    ) -> None:
        """`marker` is the file without which the vault is not there, and nothing may be written."""
        self.warnings = tuple(warnings)
        """What this file system cannot do, in plain words."""
        self.leftovers = tuple(leftovers)
        """Temporary files of interrupted writes; never removed, since they may hold somebody's save."""
        self.layout = layout
        self.kinds = kinds
        self.ledger = ledger
        self._backend = backend
        self._sources = dict(sources)
        self._undo = undo
        self._config = config
        self._clock = clock
        self._marker = marker
        # One lock a content, so that two sessions that say the same thing make one note.
        self._appending = [threading.Lock() for _ in range(64)]
        self._numbering = threading.Lock()
        self._last_number: int | None = None

    # -- reading -----------------------------------------------------------------------------------------------

    @property
    def read_only(self) -> bool:
        return self._backend.read_only

    def list(self) -> Listing:
        """The vault's files and those of every source, under their `@name/` paths."""
        merged = self._backend.list()
        for path in [path for path in merged.files if path.startswith("@")]:
            del merged.files[path]
            merged.problems.append(Problem(path, "names that start with @ are kept for sources: rename it"))
        for name, backend in self._sources.items():
            below = backend.list()
            for path, stat in below.files.items():
                full = NotePath(f"@{name}/{path}")
                merged.files[full] = replace(stat, path=full)
            merged.problems.extend(replace(p, path=f"@{name}/{p.path}") for p in below.problems)
            merged = replace(
                merged, ignored=merged.ignored + below.ignored, complete=merged.complete and below.complete
            )
        return merged

    def read(self, path: NotePath) -> NoteFile:
        """Raises NotFound, PathRefused, StorageFailed, and Refused for a file over the size limit."""
        backend, inner = self._locate(path)
        blob = backend.read(inner, limit_bytes=self._config.max_note_bytes)
        return self._note(path, blob.data, blob.etag, blob.stat)

    def is_current(self, file: NoteFile) -> bool:
        """Whether the file on disk is the one that was read. Raises as `read`."""
        backend, inner = self._locate(file.record.path)
        return backend.stat(inner).signature == file.record.signature

    def is_gone(self, path: NotePath) -> bool:
        """Whether there is surely no note any more, rather than one that cannot be looked at now."""
        try:
            backend, inner = self._locate(path)
            backend.stat(inner)
        except (NotFound, PathRefused):
            return True
        except StorageFailed:
            return False
        return False

    def tier(self, path: NotePath, note_id: NoteId) -> Tier:
        return tier_of(path, layout=self.layout, vouched=self._vouched(path, note_id))

    # -- writing -----------------------------------------------------------------------------------------------

    def append(self, draft: Draft, *, supersedes: NotePath | None = None, same: Sequence[NotePath] = ()) -> Stored:
        """Write one note or log entry, durably; the same content again returns the first.

        `supersedes` is the path of the note that the new one replaces; it stays, marked. `same`: where the index
        knows this content from, say after a move. Raises InvalidInput, Refused, AlreadyExists (for `draft.path`),
        NotFound (for `supersedes`), StorageFailed.
        """
        self._must_be_there()
        drafts.check(
            draft,
            max_bytes=self._config.max_append_bytes,
            secrets_allowed=self._config.secrets == "allow",
        )
        old = self._replaceable(supersedes) if supersedes else None
        with self._appending[int(draft.content_hash[:4], 16) % len(self._appending)]:
            if draft.kind.name == LOG:
                if draft.path or old:
                    raise InvalidInput("a log entry has no path and supersedes nothing", hint="use another kind")
                return self._append_entry(draft)
            stored = self._already_written(draft, same) or self._publish(draft, old.record.id if old else None)
        if supersedes and old and old.record.id != stored.file.record.id:
            by = stored.file.record.id
            self._patch(supersedes, lambda now: marks.superseded(now, by, self._now()))
            return replace(stored, outcome=Outcome.SUPERSEDED if stored.outcome is Outcome.CREATED else stored.outcome)
        return stored

    def forget(self, path: NotePath, entry: str | None = None, reason: str | None = None) -> NoteFile:
        """Mark a note deleted, or list a log entry's hash under `forgotten`; the bytes stay. Idempotent.

        Raises NotFound, Refused (somebody else's note), InvalidInput (a whole log).
        """
        file = self._retirable(path)
        if not file.record.is_log:
            if file.record.shelf is Shelf.DELETED:
                return file
            return self._patch(path, lambda _: marks.deleted(self._now(), reason))
        if entry is None:
            raise InvalidInput(f"{path} is a whole daily log", hint="pass the id of one entry: path#hash")
        if not marks.holds(file, entry):
            raise NotFound(f"no entry {entry} in {path}")
        return self._patch(path, lambda now: {"forgotten": marks.united(now, entry)})

    def restore(self, path: NotePath, entry: str | None = None) -> NoteFile:
        """Undo a forget: the very bytes from before where nothing else changed since, else the marks go. Idempotent."""
        file = self.read(path)
        may_retire(path, self.tier(path, file.record.id), layout=self.layout)
        if file.record.is_log:
            if entry is None:
                raise InvalidInput(f"{path} is a whole daily log", hint="pass the id of one entry: path#hash")
            return self._patch(path, lambda now: {"forgotten": marks.without(now, entry)})
        if file.record.shelf is not Shelf.DELETED:
            return file
        self._must_be_there()
        if before := self._undo.find(file.record.etag):
            try:
                return self._reread(path, before, self._backend.write(path, before, file.record.etag))
            except PreconditionFailed:
                pass  # somebody wrote it just now: take the marks out of what they wrote
        return self._patch(path, lambda _: marks.NOT_DELETED)

    def write_once(self, path: NotePath, data: bytes) -> None:
        """Put a file of ours into a vault that we have just made, where nothing has that name yet."""
        with suppress(AlreadyExists):
            self._backend.write(path, data, None)

    def adopt(self, path: NotePath) -> NoteId | None:
        """Vouch for a note in home that this installation did not write; None where it needs no adoption."""
        file = self.read(path)
        inner = self.layout.below_home(path)
        if inner is None or path.startswith("@"):
            raise Refused(f"{path} is outside home", hint=f"move it below {self.layout.home or 'the vault'} first")
        if self._vouched(path, file.record.id):
            return None
        record = file.record
        self._vouch(record.id, path, record.content_hash, record.kind, record.project, None, self._clock())
        return file.record.id

    def settle(self) -> list[NotePath]:
        """Look again at what our writes displaced; the paths of new conflict copies."""
        return self._backend.settle()

    # -- appending ---------------------------------------------------------------------------------------------

    def _already_written(self, draft: Draft, same: Sequence[NotePath]) -> Stored | None:
        wanted = (draft.content_hash, draft.kind.name, draft.project)
        now = self._clock()
        for path in dict.fromkeys([*(known.path for known in reversed(self.ledger.written(*wanted))), *same]):
            try:
                file = self.read(path)
            except (NotFound, Refused, PathRefused, StorageFailed):
                continue  # announced but never published, moved since, or no longer a note
            record = file.record
            counts = record.shelf is Shelf.ACTIVE and (record.expires_at is None or record.expires_at > now)
            if counts and (record.content_hash, record.kind, record.project) == wanted:
                return Stored(file, Outcome.DUPLICATE)
        return None

    def _publish(self, draft: Draft, supersedes: NoteId | None) -> Stored:
        now = self._clock()
        note_id = NoteId(str(ULID.from_datetime(now)))
        data = drafts.render(draft, note_id, now, supersedes)
        for number in range(ATTEMPTS):
            path = self._free_name(draft, number)
            self._vouch(note_id, path, draft.content_hash, draft.kind.name, draft.project, draft.session, now)
            try:
                written = self._backend.write(path, data, None)
            except AlreadyExists:
                if draft.path:
                    raise
                continue
            return Stored(self._reread(path, data, written), Outcome.CREATED)
        raise AlreadyExists(f"{ATTEMPTS} notes with the title {draft.heading!r} exist", hint="pass another title")

    def _free_name(self, draft: Draft, number: int) -> NotePath:
        if draft.path:
            inner = self.layout.below_home(validate_new(draft.path))
            if inner is None:
                raise Refused(f"{draft.path} is outside home", hint=f"start with {self.layout.home or 'notes'}/")
            if inner.casefold().startswith(f"{ALWAYS_LOAD}/"):
                raise Refused("only a person writes to _always-load/", hint="use another folder")
            return NotePath(draft.path)
        stem = slug(draft.heading)
        tail = f"-{number + 1}" if number else ""
        if draft.kind.folder.endswith("_fresh"):
            return self.layout.in_home(f"{draft.kind.folder}/{self._next_number():03}-{stem}{tail}.md")
        return self.layout.in_home(f"{draft.kind.folder}/{stem}{tail}.md")

    def _next_number(self) -> int:
        """One more than the highest number among the fresh leaves; a taken one is no harm, `id` identifies."""
        with self._numbering:
            if self._last_number is None:
                fresh = self.layout.in_home("topics/_fresh/")
                heads = (path.removeprefix(fresh).split("-")[0] for path in self._backend.list().files)
                self._last_number = max((int(head) for head in heads if head.isdecimal()), default=0)
            self._last_number += 1
            return self._last_number

    def _append_entry(self, draft: Draft) -> Stored:
        now = self._clock()
        path = NotePath(f"memory/{now.date().isoformat()}.md")
        text = logs.render_entry(now.strftime("%H:%M"), draft.heading, draft.content)
        if recent := self._recent_entry(draft, now):
            return recent
        self._vouch(NoteId(f"path:{path}"), path, draft.content_hash, LOG, draft.project, draft.session, now)
        for _ in range(ATTEMPTS):
            try:
                blob = self._backend.read(path)
                before, etag = marks.patchable(path, blob.data), blob.etag
            except NotFound:
                before, etag = logs.new_log(now.date()), None
            else:
                if again := self._remembered_entry(path, blob, text):
                    return again
            data = logs.append_entry(before, text).encode("utf-8", "surrogateescape")
            try:
                written = self._backend.write(path, data, etag)
            except (PreconditionFailed, AlreadyExists):
                continue
            file = self._reread(path, data, written)
            entry = logs.entries(file.text, file.body_start)[-1].hash
            return Stored(file, Outcome.CREATED, entry, written.conflict)
        raise StorageFailed(f"{path} changes faster than it can be appended to", hint="try again")

    def _recent_entry(self, draft: Draft, now: datetime) -> Stored | None:
        """The same content from the same session within a minute is a retry."""
        for known in self.ledger.written(draft.content_hash, LOG, draft.project):
            if known.session != draft.session or not 0 <= now.timestamp() - known.at <= SAME_MINUTE_S:
                continue
            try:
                file = self.read(known.path)
            except NotFound:
                continue
            minute = datetime.fromtimestamp(known.at, self.layout.tz).strftime("%H:%M")
            wanted = marks.hash_of(logs.render_entry(minute, draft.heading, draft.content))
            if wanted not in marks.forgotten(file) and marks.holds(file, wanted):
                return Stored(file, Outcome.DUPLICATE, wanted)
        return None

    def _remembered_entry(self, path: NotePath, blob: Blob, text: str) -> Stored | None:
        """The very entry that was forgotten in this minute, said again: it is shown again, since its twin would
        have the same hash and be as forgotten."""
        entry = marks.hash_of(text)
        file = self._note(path, blob.data, blob.etag, blob.stat)
        if entry in marks.forgotten(file) and marks.holds(file, entry):
            return Stored(
                self._patch(path, lambda now: {"forgotten": marks.without(now, entry)}), Outcome.CREATED, entry
            )
        return None

    # -- changing ----------------------------------------------------------------------------------------------

    def _replaceable(self, path: NotePath) -> NoteFile:
        """Raises before anything is written where the note could not be marked as superseded."""
        file = self._retirable(path)
        if file.record.is_log:
            raise InvalidInput(f"{path} is a daily log", hint="forget the entry, then append the new one")
        if file.record.shelf is Shelf.DELETED:
            raise NotFound(f"{path} was forgotten", hint="append without supersedes")
        frontmatter.patch(
            marks.patchable(path, self._backend.read(path).data), marks.superseded(file, NoteId("?"), self._now())
        )
        return file

    def _retirable(self, path: NotePath) -> NoteFile:
        file = self.read(path)
        may_retire(path, self.tier(path, file.record.id), layout=self.layout)
        return file

    def _patch(self, path: NotePath, changes: Callable[[NoteFile], Mapping[str, frontmatter.Value | None]]) -> NoteFile:
        """Change frontmatter keys and no other byte; tried again when another writer was faster."""
        self._must_be_there()
        for _ in range(ATTEMPTS):
            blob = self._backend.read(path)
            file = self._note(path, blob.data, blob.etag, blob.stat)
            before = marks.patchable(path, blob.data)
            after = marks.without_empty_head(frontmatter.patch(before, changes(file)))
            if after == before:
                return file
            data = after.encode("utf-8", "surrogateescape")
            if not file.record.is_log:
                self._undo.keep(Etag(hashlib.sha256(data).hexdigest()), blob.data)
            try:
                written = self._backend.write(path, data, blob.etag)
            except PreconditionFailed:
                continue
            return self._reread(path, data, written)
        raise PreconditionFailed(f"{path} changes faster than it can be patched", hint="try again")

    def _reread(self, path: NotePath, data: bytes, written: Written) -> NoteFile:
        return self._note(path, data, written.etag, written.stat)

    def _note(self, path: NotePath, data: bytes, etag: Etag, stat: FileStat) -> NoteFile:
        file = read_note(path, data, etag, stat.signature, self.layout, self.kinds)
        return replace(file, settled=stat.settled)

    def _vouch(
        self,
        note_id: NoteId,
        path: NotePath,
        content: str,
        kind: str,
        project: str | None,
        session: str | None,
        now: datetime,
    ) -> None:
        self.ledger.record(LedgerEntry(note_id, path, content, kind, project, session, now.timestamp()))

    def _vouched(self, path: NotePath, note_id: NoteId) -> bool:
        """Whether the ledger knows the note: its id, at the place where it was written, or moved from there. A file
        with the id of a note that is still in its place is a copy, whoever made it."""
        places = self.ledger.paths_of(note_id)
        return path in places or (bool(places) and not any(self._carries(place, note_id) for place in places))

    def _carries(self, path: NotePath, note_id: NoteId) -> bool:
        try:
            return self.read(path).record.id == note_id
        except (NotFound, Refused, PathRefused, StorageFailed):
            return False

    def _now(self) -> datetime:
        """To the second, as frontmatter has it."""
        return self._clock().replace(microsecond=0)

    def _must_be_there(self) -> None:
        """A note written below the mount point of a disk that is not there now would be lost when it comes back."""
        if self._marker is not None and not self._marker.is_file():
            raise StorageFailed(
                f"the vault is not there: its marker {self._marker} is missing",
                hint="mount the disk or finish the sync; if this is the vault: mcp-memory doctor --accept",
            )

    def _locate(self, path: NotePath) -> tuple[StorageBackend, NotePath]:
        if not path.startswith("@"):
            return self._backend, path
        name, _, inner = path[1:].partition("/")
        if name not in self._sources:
            raise NotFound(f"no source named {name!r}", hint=f"known: {', '.join(self._sources) or 'none'}")
        return self._sources[name], NotePath(inner)
