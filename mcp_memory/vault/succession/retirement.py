"""Forget, restore and supersede notes and log entries by changing their frontmatter and no other byte."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import cast

from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound, PreconditionFailed, Refused, StorageFailed
from mcp_memory.models import NoteId, NotePath, NoteState, Status, etag_of
from mcp_memory.text.dates import as_datetime
from mcp_memory.text.markdown import frontmatter, logs
from mcp_memory.vault.journals.change_journal import NoteChange
from mcp_memory.vault.journals.tombstones import Caller, Tombstone, Tombstones
from mcp_memory.vault.note_file import NoteFile, derive_title, editable_text, entries_of, is_memory
from mcp_memory.vault.note_store import ATTEMPTS, NoteStore
from mcp_memory.vault.succession.entry_marks import entry_mark, entry_record

Changes = Mapping[str, frontmatter.Value | None]

_DELETION = ("deleted_at", "deleted_by", "deleted_in", "deleted_because", "done_at")
_WITHOUT = "append without supersedes"


@dataclass(frozen=True)
class Retirement:
    """The verbs that retire notes. They keep what a restore needs before they change a note, and don't check whether it
    may be retired. Thread-safe.

    Every public method raises NotFound, Refused for a file that isn't text, PreconditionFailed and StorageFailed."""

    notes: NoteStore
    tombstones: Tombstones

    def forget(self, file: NoteFile, entry: str | None, reason: str | None, by: Caller) -> NoteFile:
        """Forget a note or log entry. Idempotent. Also raises InvalidInput for a whole log."""
        path, now = file.record.path, self._now()
        if not file.record.is_log:
            if file.record.state is NoteState.DELETED and not self.tombstones.hides(file.record.etag):
                return file
            marks: Changes = {
                "status": Status.DELETED.value,
                "deleted_at": now,
                "deleted_by": by.client,
                "deleted_in": by.session,
                "deleted_because": reason,
            }
            return self._patch(path, lambda _: marks, forgets=True)
        entry = _require_entry(path, entry)
        if not file.has_entry(entry):
            raise NotFound(f"no entry {entry} in {path}")
        is_known = entry in self.tombstones.entries(path)
        if not is_known:
            self.tombstones.keep_entry(Tombstone(path, entry, now, by.client, by.session, reason))
        try:
            return self._patch(path, lambda log: {"forgotten": list(dict.fromkeys([*log.forgotten_entries, entry]))})
        except McpMemoryError:
            with suppress(StorageFailed):  # raise the first error
                if not is_known:
                    self.tombstones.release_entry(path, entry)
            raise

    def restore(self, file: NoteFile, entry: str | None) -> NoteFile:
        """Undo a forget or `archive`, byte for byte if nothing else has changed. Also raises InvalidInput for a whole
        log."""
        path = file.record.path
        if file.record.is_log:
            return self.restore_entry(path, _require_entry(path, entry))
        if file.record.state is not NoteState.DELETED:
            return self.archive(file, undo=True)
        # If another program has written to it since, only our marks are removed.
        restored = self._put_bytes_back(file) or self._patch(path, _without_deletion, restores=True)
        with suppress(StorageFailed):  # it hides nothing any more
            self.tombstones.release(file.record.etag, restored.record.etag)
        return restored

    def restore_entry(self, path: NotePath, entry: str) -> NoteFile:
        """Show a log's forgotten entry again."""
        known = self.tombstones.read_entry(path, entry) if entry in self.tombstones.entries(path) else None
        if known:
            self.tombstones.release_entry(path, entry)  # first: the log's own list counts until it is written
        try:
            return self._patch(
                path, lambda log: {"forgotten": [known for known in log.forgotten_entries if known != entry] or None}
            )
        except McpMemoryError:
            if known:
                with suppress(StorageFailed):  # raise the first error
                    self.tombstones.keep_entry(known)
            raise

    def supersede(self, path: NotePath, by: NoteId, entry: str | None = None) -> NoteFile:
        """Mark a note or log entry as replaced by another note; it stays. Idempotent."""
        return self._patch(path, lambda file: self._supersede_marks(file, by, entry))

    def reinstate(self, path: NotePath, change: NoteChange, data: bytes | None) -> NoteFile:
        """Undo that a note replaced this note or log entry. `data`, the earlier bytes if they are known, are written if
        nothing has changed since; otherwise only the marks of that note are removed. Idempotent."""
        by, status = change.other or "", None
        if data is not None:
            if self.notes.read(path).record.etag == change.after:
                with suppress(PreconditionFailed):  # it has just been changed
                    return self.notes.write(path, data, change.after)
            earlier = frontmatter.parse(editable_text(path, data)).meta.get("status")
            status = earlier if earlier == Status.ARCHIVED else None

        def marks(file: NoteFile) -> Changes:
            if file.record.is_log:
                known: list[str] = file.record.meta.get("superseded", [])
                return {"superseded": [mark for mark in known if by not in mark.split()] or None}
            others: list[str] = [name for name in file.record.superseded_by if name != by]
            if len(others) == len(file.record.superseded_by):
                return {}
            if others:
                return {"superseded_by": others}
            return {"status": status, "superseded_by": None, "superseded_at": None}

        return self._patch(path, marks)

    def add_mark(self, path: NotePath, name: str, mark: str) -> NoteFile:
        """Add the mark to a list in the head. Idempotent."""

        def marks(file: NoteFile) -> Changes:
            known = [str(one) for one in file.record.meta.get(name, ())]
            return {} if mark in known else {name: [*known, mark]}

        return self._patch(path, marks)

    def archive(self, file: NoteFile, entry: str | None = None, *, undo: bool = False, done: bool = False) -> NoteFile:
        """Set or remove `status: archived` (with `done` also `done_at`) and nothing else, so that undoing it gives the
        same bytes again. A superseded note is archived already, unless it is active again. Also raises InvalidInput for
        a log or an entry."""
        if entry or file.record.is_log:
            raise InvalidInput("an entry of a file has no archive", hint="memory_forget hides it, and can be undone")

        def marks(now: NoteFile) -> Changes:
            if now.record.state is NoteState.DELETED:
                raise NotFound(f"{file.record.path} was forgotten", hint="memory_forget with restore=true")
            status = frontmatter.parse(now.text).meta.get("status")
            if undo:
                return _without_deletion(now) if status == Status.ARCHIVED else {}
            is_ours = status in (None, Status.ACTIVE, Status.SUPERSEDED)
            if not is_ours and now.record.state is not NoteState.ARCHIVED:
                raise Refused(f"{file.record.path} has a status of its own", hint="change it with mcp-memory edit")
            known = {"done_at": self._now()} if done and "done_at" not in now.record.meta else dict[str, datetime]()
            if now.record.state in {NoteState.ARCHIVED, NoteState.REPLACED} and status:
                return known
            # it may be superseded, and active again
            return {"status": Status.ARCHIVED.value, "superseded_by": None, "superseded_at": None, **known}

        return self._patch(file.record.path, marks)

    def check_supersede(self, file: NoteFile, entry: str | None) -> None:
        """Raise the errors of `supersede`, and write nothing."""
        blob = self.notes.read_bytes(file.record.path)
        frontmatter.patch(editable_text(file.record.path, blob.data), self._supersede_marks(file, NoteId("?"), entry))

    def list_tombstones(self, file: NoteFile) -> list[Tombstone]:
        """Return the tombstone of a forgotten note, or the tombstones of forgotten entries that a log still has, or
        that were taken out of `MEMORY.md`."""
        path = file.record.path
        if is_memory(path):
            stones = [self.tombstones.read_entry(path, entry) for entry in self.tombstones.entries(path)]
            out = [(stone, stone.kept) for stone in stones if not file.has_entry(stone.entry or "")]
            return [replace(stone, title=derive_title(kept["text"])) for stone, kept in out if kept]
        if not file.record.is_log:
            return [read_tombstone(file)] if file.record.state is NoteState.DELETED else []
        entries = {entry.hash: entry for entry in logs.entries(file.text, file.body_start)}
        found: list[Tombstone] = []
        for hash_ in {*file.forgotten_entries} & entries.keys():
            entry = entries[hash_]
            words, _ = logs.title_and_labels([f"{entry.time} {entry.title}"])
            title = derive_title(words or file.text[entry.start : entry.end].partition("\n")[2])
            found.append(replace(self.tombstones.read_entry(file.record.path, hash_), title=title))
        return found

    def _now(self) -> datetime:
        return self.notes.clock().replace(microsecond=0)  # as frontmatter has it

    def _supersede_marks(self, file: NoteFile, by: NoteId, entry: str | None) -> Changes:
        """Return the marks to set; empty if the note has them, so that a retry changes nothing."""
        record, path = file.record, file.record.path
        if record.is_log:
            entry = _require_entry(path, entry)
            if entry in file.forgotten_entries or not file.has_entry(entry):
                raise NotFound(f"no entry {entry} in {path}", hint=_WITHOUT)
            if by in entry_record(record, entry).superseded_by:
                return {}
            others = [mark for mark in record.meta.get("superseded", ()) if not mark.startswith(f"{entry} ")]
            return {"superseded": [*others, entry_mark(file, entry, by, self._now())]}
        if record.state is NoteState.DELETED:
            raise NotFound(f"{path} was forgotten", hint=_WITHOUT)
        if by in record.superseded_by and record.state in {NoteState.ARCHIVED, NoteState.REPLACED}:
            return {}
        names: list[str] = [*(name for name in record.superseded_by if name != by), by]
        return {"status": Status.SUPERSEDED.value, "superseded_by": names, "superseded_at": self._now()}

    def _patch(
        self, path: NotePath, changes: Callable[[NoteFile], Changes], *, forgets: bool = False, restores: bool = False
    ) -> NoteFile:
        """Patch the head, and try again with new `changes` if another writer was faster. `_put_bytes_back` can undo
        what this `forgets`; what it `restores` is no longer hidden."""
        for _ in range(ATTEMPTS):
            blob = self.notes.read_bytes(path)
            file = self.notes.note(path, blob.data, blob.etag, blob.stat)
            before = editable_text(path, blob.data)
            after = without_empty_head(frontmatter.patch(before, changes(file)))
            data = after.encode("utf-8", "surrogateescape")
            etag = etag_of(data)
            if restores:
                self.tombstones.show(blob.etag, etag)
            if after == before:
                return file
            if forgets:
                self.tombstones.keep(etag, blob.etag, blob.data)
            try:
                return self.notes.write(path, data, blob.etag)
            except McpMemoryError as error:
                if forgets:
                    with suppress(StorageFailed):  # raise the first error
                        self.tombstones.release(etag)
                if restores:
                    self.tombstones.hide(blob.etag, etag)
                if not isinstance(error, PreconditionFailed):
                    raise
        raise PreconditionFailed(f"{path} changes faster than it can be patched", hint="try again")

    def _put_bytes_back(self, file: NoteFile) -> NoteFile | None:
        """Restore the bytes from before the forget; None if they are unknown or the note has changed since."""
        path = file.record.path
        before = self.tombstones.find(file.record.etag)
        if before is None:
            return None
        self.tombstones.show(file.record.etag)
        try:
            return self.notes.write(path, before, file.record.etag)
        except McpMemoryError as error:
            self.tombstones.hide(file.record.etag)
            if isinstance(error, PreconditionFailed):
                return None
            raise


def read_tombstone(file: NoteFile) -> Tombstone:
    """Read a tombstone from a forgotten note's file; it has only the path if another program put the unmarked bytes
    back."""
    meta = frontmatter.parse(file.text).meta
    client, session, reason = (
        None if meta.get(key) is None else str(meta[key]) for key in ("deleted_by", "deleted_in", "deleted_because")
    )
    at = as_datetime(meta.get("deleted_at"), UTC)
    return Tombstone(file.record.path, None, at, client, session, reason, file.record.title)


def retired_at(file: NoteFile) -> datetime | None:
    """Return when the note was forgotten, replaced or expired; None if the file does not record it."""
    meta, record = frontmatter.parse(file.text).meta, file.record
    if record.state is NoteState.DELETED:
        return as_datetime(meta.get("deleted_at"), UTC)
    return record.superseded_at or record.expires_at


def remove_entry(path: NotePath, data: bytes, entry: str) -> bytes:
    """Return the bytes of a log or `MEMORY.md` without this entry and its hash in `forgotten` and `superseded`.

    Raises NotFound, Refused for a file that isn't text."""
    text = editable_text(path, data)
    meta = frontmatter.parse(text)
    found = [known for known in entries_of(path, text) if known.hash == entry]
    if not found:
        raise NotFound(f"no entry {entry} in {path}")
    for known in reversed(found):
        text = text[: known.start] + text[known.end :]
    for name in ("forgotten", "superseded"):
        marks = meta.meta.get(name)
        if isinstance(marks, list) and any(str(mark).split()[:1] == [entry] for mark in cast("list[object]", marks)):
            rest = [str(mark) for mark in cast("list[object]", marks) if str(mark).split()[:1] != [entry]]
            text = without_empty_head(frontmatter.patch(text, {name: rest or None}))
    return text.encode("utf-8", "surrogateescape")


def _without_deletion(file: NoteFile) -> Changes:
    """Return the changes that restore a forgotten note; a note that was superseded before is superseded again."""
    status = Status.SUPERSEDED.value if file.record.superseded_by else None
    return {"status": status, **dict.fromkeys(_DELETION)}


def _require_entry(path: NotePath, entry: str | None) -> str:
    if entry is None:
        raise InvalidInput(f"{path} is a whole daily log", hint="pass the id of one entry: path#hash")
    return entry


def without_empty_head(text: str) -> str:
    """Drop empty frontmatter: the file may have had none before we marked it."""
    head = frontmatter.split_head(text)
    if not head.exists or text[head.start : head.end].strip():
        return text
    bom = frontmatter.BOM if text.startswith(frontmatter.BOM) else ""
    return bom + text[head.body_start :]
