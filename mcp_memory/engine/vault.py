"""The vault: Markdown in files, and the only door through which a note is written.

Verbs are synchronous and thread-safe; the engine runs them in worker threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ulid import ULID

from mcp_memory.engine import draft as drafts
from mcp_memory.engine.config import VaultConfig
from mcp_memory.engine.draft import Draft
from mcp_memory.engine.kinds import LOG, Kinds
from mcp_memory.engine.ledger import Ledger, LedgerEntry
from mcp_memory.engine.notes import Layout, NoteFile, read_note, slug
from mcp_memory.engine.ownership import Tier, may_retire, tier_of
from mcp_memory.errors import AlreadyExists, InvalidInput, NotFound, PreconditionFailed, Refused, StorageFailed
from mcp_memory.models import Etag, NoteId, NotePath, Outcome, Problem, Shelf, Status
from mcp_memory.storage.base import Listing, StorageBackend, Written
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
        undo: Path,
        config: VaultConfig,
        clock: Callable[[], datetime],
        warnings: Sequence[str] = (),
        leftovers: Sequence[Problem] = (),
    ) -> None:
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
        return read_note(path, blob.data, blob.etag, blob.stat.signature, self.layout, self.kinds)

    def signature(self, path: NotePath) -> str:
        """Raises NotFound."""
        backend, inner = self._locate(path)
        return backend.stat(inner).signature

    def tier(self, path: NotePath, note_id: NoteId) -> Tier:
        return tier_of(path, layout=self.layout, vouched=self.ledger.vouches(note_id))

    # -- writing -----------------------------------------------------------------------------------------------

    def append(self, draft: Draft, *, supersedes: NotePath | None = None) -> Stored:
        """Write one note or log entry, durably; the same content again returns the first.

        `supersedes` is the path of the note that the new one replaces; it stays, marked. Raises InvalidInput,
        Refused, AlreadyExists (for `draft.path`), NotFound (for `supersedes`), StorageFailed.
        """
        drafts.check(
            draft,
            max_bytes=self._config.max_append_bytes,
            secrets_allowed=self._config.secrets == "allow",
        )
        old = self._retirable(supersedes) if supersedes else None
        with self._appending[int(draft.content_hash[:4], 16) % len(self._appending)]:
            if draft.kind.name == LOG:
                if draft.path or old:
                    raise InvalidInput("a log entry has no path and supersedes nothing", hint="use another kind")
                return self._append_entry(draft)
            stored = self._already_written(draft) or self._publish(draft, old.record.id if old else None)
        if supersedes and old and old.record.id != stored.file.record.id:
            self._supersede(supersedes, stored.file.record.id)
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
            now = self._clock().replace(microsecond=0)
            marks = {"status": Status.DELETED.value, "deleted_at": now, "deleted_because": reason}
            return self._patch(path, lambda _: marks)
        if entry is None:
            raise InvalidInput(f"{path} is a whole daily log", hint="pass the id of one entry: path#hash")
        if all(known.hash != entry for known in logs.entries(file.text, file.body_start)):
            raise NotFound(f"no entry {entry} in {path}")
        return self._patch(path, lambda now: {"forgotten": _united(now, entry)})

    def restore(self, path: NotePath, entry: str | None = None) -> NoteFile:
        """Undo a forget: the very bytes from before where nothing else changed since, else the marks go. Idempotent."""
        file = self.read(path)
        may_retire(path, self.tier(path, file.record.id), layout=self.layout)
        if file.record.is_log:
            if entry is None:
                raise InvalidInput(f"{path} is a whole daily log", hint="pass the id of one entry: path#hash")
            return self._patch(path, lambda now: {"forgotten": _without(now, entry)})
        if file.record.shelf is not Shelf.DELETED:
            return file
        if before := self._undo_of(file.record.etag):
            try:
                return self._reread(path, before, self._backend.write(path, before, file.record.etag))
            except PreconditionFailed:
                pass  # somebody wrote it just now: take the marks out of what they wrote
        return self._patch(path, lambda _: {"status": None, "deleted_at": None, "deleted_because": None})

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
        if self.ledger.vouches(file.record.id):
            return None
        self._vouch(file.record.id, path, file.record.content_hash, file.record.kind, file.record.project, None)
        return file.record.id

    def settle(self) -> list[NotePath]:
        """Look again at what our writes displaced; the paths of new conflict copies."""
        return self._backend.settle()

    # -- appending ---------------------------------------------------------------------------------------------

    def _already_written(self, draft: Draft) -> Stored | None:
        for known in reversed(self.ledger.written(draft.content_hash, draft.kind.name, draft.project)):
            try:
                file = self.read(known.path)
            except (NotFound, StorageFailed):
                continue  # announced but never published, or moved since
            if file.record.content_hash == draft.content_hash and file.record.shelf is Shelf.ACTIVE:
                return Stored(file, Outcome.DUPLICATE)
        return None

    def _publish(self, draft: Draft, supersedes: NoteId | None) -> Stored:
        now = self._clock()
        note_id = NoteId(str(ULID.from_datetime(now)))
        data = drafts.render(draft, note_id, now, supersedes)
        for number in range(ATTEMPTS):
            path = self._free_name(draft, number)
            self._vouch(note_id, path, draft.content_hash, draft.kind.name, draft.project, draft.session)
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
            inner = self.layout.below_home(draft.path)
            if inner is None:
                raise Refused(f"{draft.path} is outside home", hint=f"start with {self.layout.home or 'notes'}/")
            if inner.startswith("_always-load/"):
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
        self._vouch(NoteId(f"path:{path}"), path, draft.content_hash, LOG, draft.project, draft.session)
        for _ in range(ATTEMPTS):
            try:
                blob = self._backend.read(path)
                before, etag = blob.data.decode("utf-8", "surrogateescape"), blob.etag
            except NotFound:
                before, etag = logs.new_log(now.date()), None
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
            wanted = logs.entries(logs.render_entry(minute, draft.heading, draft.content), 0)[0].hash
            if any(entry.hash == wanted for entry in logs.entries(file.text, file.body_start)):
                return Stored(file, Outcome.DUPLICATE, wanted)
        return None

    # -- changing ----------------------------------------------------------------------------------------------

    def _supersede(self, path: NotePath, by: NoteId) -> None:
        now = self._clock().replace(microsecond=0)
        self._patch(path, lambda _: {"status": Status.SUPERSEDED.value, "superseded_by": [by], "updated": now})

    def _retirable(self, path: NotePath) -> NoteFile:
        file = self.read(path)
        may_retire(path, self.tier(path, file.record.id), layout=self.layout)
        return file

    def _patch(self, path: NotePath, changes: Callable[[NoteFile], Mapping[str, frontmatter.Value | None]]) -> NoteFile:
        """Change frontmatter keys and no other byte; tried again when another writer was faster."""
        for _ in range(ATTEMPTS):
            blob = self._backend.read(path)
            file = read_note(path, blob.data, blob.etag, blob.stat.signature, self.layout, self.kinds)
            # Undecodable bytes travel through the patch as surrogates, so that they come out as they were.
            before = blob.data.decode("utf-8", "surrogateescape")
            after = frontmatter.patch(before, changes(file))
            data = _without_empty_head(after).encode("utf-8", "surrogateescape")
            if data == blob.data:
                return file
            try:
                written = self._backend.write(path, data, blob.etag)
            except PreconditionFailed:
                continue
            if not file.record.is_log:
                self._keep_undo(written.etag, blob.data)
            return self._reread(path, data, written)
        raise PreconditionFailed(f"{path} changes faster than it can be patched", hint="try again")

    def _reread(self, path: NotePath, data: bytes, written: Written) -> NoteFile:
        return read_note(path, data, written.etag, written.stat.signature, self.layout, self.kinds)

    def _keep_undo(self, after: Etag, before: bytes) -> None:
        target = self._undo / after
        draft = target.with_suffix(f".{threading.get_ident()}")
        draft.write_bytes(before)
        draft.chmod(0o600)
        draft.replace(target)

    def _undo_of(self, etag: Etag) -> bytes | None:
        try:
            return (self._undo / etag).read_bytes()
        except FileNotFoundError:
            return None

    def _vouch(
        self, note_id: NoteId, path: NotePath, content: str, kind: str, project: str | None, session: str | None
    ) -> None:
        at = self._clock().timestamp()
        self.ledger.record(LedgerEntry(note_id, path, content, kind, project, session, at))

    def _locate(self, path: NotePath) -> tuple[StorageBackend, NotePath]:
        if not path.startswith("@"):
            return self._backend, path
        name, _, inner = path[1:].partition("/")
        if name not in self._sources:
            raise NotFound(f"no source named {name!r}", hint=f"known: {', '.join(self._sources) or 'none'}")
        return self._sources[name], NotePath(inner)


def _without_empty_head(text: str) -> str:
    """A head that holds nothing any more goes: the file may have had none before we marked it."""
    head = frontmatter.split_head(text)
    if not head.exists or text[head.start : head.end].strip():
        return text
    bom = frontmatter.BOM if text.startswith(frontmatter.BOM) else ""
    return bom + text[head.body_start :]


def _united(file: NoteFile, entry: str) -> list[str]:
    known = [str(h) for h in file.record.meta.get("forgotten", [])]
    return known if entry in known else [*known, entry]


def _without(file: NoteFile, entry: str) -> list[str] | None:
    return [str(h) for h in file.record.meta.get("forgotten", []) if str(h) != entry] or None
