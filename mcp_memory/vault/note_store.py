"""Read the notes of a vault and its sources as one tree (each source under `@name/`), and write the vault's files."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp_memory.errors import AlreadyExists, NotFound, PathRefused, PreconditionFailed, Refused, StorageFailed
from mcp_memory.models import Clock, Etag, FileStat, NotePath, NoteRecord, NoteState, Problem
from mcp_memory.runtime.health import give_way
from mcp_memory.storage.base import Blob, Listing, StorageBackend
from mcp_memory.text.chunking.chunker import MAX_CHARS
from mcp_memory.text.markdown import logs
from mcp_memory.topics.page import is_page
from mcp_memory.vault.config import NoteKinds
from mcp_memory.vault.journals.change_journal import (
    DECISION,
    DREAM,
    IMPORT,
    NoteChange,
    changed_entry,
    current_caller,
    describe_difference,
)
from mcp_memory.vault.journals.ledger import NoteJournals
from mcp_memory.vault.marker import MarkerGuard
from mcp_memory.vault.marks.set_aside import unless_odd
from mcp_memory.vault.note_file import Layout, NoteFile, editable_text, entries_of, is_memory, read_note

ATTEMPTS = 200  # the most tries of a compare-and-swap, if other writers are faster

if TYPE_CHECKING:
    from mcp_memory.vault.succession.chains import Chains


class NoteStore:
    """The store, which knows which back end a path belongs to, and parses bytes as notes. Thread-safe."""

    def __init__(
        self,
        backend: StorageBackend,
        sources: Mapping[str, StorageBackend],
        *,
        layout: Layout,
        kinds: NoteKinds,
        max_note_bytes: int,
        clock: Clock,
        journals: NoteJournals,
        guard: MarkerGuard | None = None,
    ) -> None:
        self.backend = backend
        self.layout = layout
        self.kinds = kinds
        self.max_note_bytes = max_note_bytes
        self.clock = clock
        self._sources = dict(sources)
        self._tombstones = journals.tombstones
        self.guard = guard
        self._changes = journals.changes
        self.chains: Chains | None = None
        self.on_write: Callable[[NotePath], None] = lambda _: None
        """Called with each file that was changed, before the caller gets its answer; not with conflict copies, whose
        bytes are another program's."""

    @property
    def is_away(self) -> bool:
        """Return whether the vault's folder is missing: then an absent file proves nothing. Reads the disk."""
        return self.guard is not None and self.guard.vanished

    def require_vault(self) -> None:
        """Raise StorageFailed if the vault's folder is away. Call it before writing."""
        if self.guard:
            self.guard.must_be_there()

    def list(self) -> Listing:
        """List the vault's files and those of every source.

        `complete` is about the vault only; a source that can't be listed is in `missing`, and a problem."""
        own = self.backend.list()
        files = {path: stat for path, stat in own.files.items() if not path.startswith("@")}
        problems = list(own.problems)
        problems += [
            Problem(path, "names that start with @ are kept for sources: rename it")
            for path in own.files
            if path.startswith("@")
        ]
        folders = {path: found for path, found in own.folders.items() if not path.startswith("@")}
        ignored, missing = own.ignored, set[str]()
        for name, backend in self._sources.items():
            below = backend.list()
            for path, stat in below.files.items():
                full = NotePath(f"@{name}/{path}")
                files[full] = replace(stat, path=full)
            folders |= {NotePath(f"@{name}/{path}".rstrip("/")): found for path, found in below.folders.items()}
            ignored += below.ignored
            if below.complete:
                problems += [replace(problem, path=f"@{name}/{problem.path}") for problem in below.problems]
            else:
                missing.add(f"@{name}/")
                last = below.problems[-1] if below.problems else Problem(name, "not readable")
                problems.append(
                    Problem(f"@{name}", f"source {last.path} not listed: {last.reason}; see [vault.sources]")
                )
        return Listing(files, problems, ignored, own.complete, folders, frozenset(missing))

    def read(self, path: NotePath, *, chained: bool = True) -> NoteFile:
        """Read a note. A file over the size limit is read only at its beginning, with a `problem` about that. The state
        is the note's state in its chain or, unless `chained`, the state in its own file.

        Raises NotFound, PathRefused, StorageFailed."""
        give_way()
        backend, inner = self._locate(path)
        blob = backend.read(inner, limit_bytes=self.max_note_bytes, beginning=True)
        if blob.whole:
            return self.note(path, blob.data, blob.etag, blob.stat, chained=chained)
        file = self.note(path, _whole_characters(blob.data), blob.etag, blob.stat, chained=chained)
        problem = f"read only up to {self.max_note_bytes:,} bytes (vault.max_note_bytes): split the file"
        problem = f"{file.record.problem}; {problem}" if file.record.problem else problem
        record, text = replace(file.record, problem=problem), file.text
        # Half an entry has another hash and so couldn't be forgotten. In a longer text, chunking drops it.
        if record.is_log and len(text) <= MAX_CHARS and (entries := logs.entries(text, file.body_start)):
            text = text[: entries[-1].start]
        return replace(file, record=record, text=text)

    def find(self, path: NotePath) -> NoteFile | None:
        """Read a note as `read` does, but return None if there is no such file."""
        try:
            return self.read(path)
        except NotFound:
            return None

    def read_bytes(self, path: NotePath) -> Blob:
        """Return all of a file of the vault. Raises as `read`, and Refused for a file over the size limit."""
        return self.backend.read(path, limit_bytes=self.max_note_bytes)

    def write(
        self, path: NotePath, data: bytes, expected: Etag | None, *, added: str | None = None, portable: bool = True
    ) -> NoteFile:
        """Publish a file, as `StorageBackend.write` does, and return the note. Keeps the bytes of a note that is
        edited, but not of a log to which an entry is `added`."""
        facts = self._describe_change(path, data, expected, added)
        note = self.write_made(path, data, expected, portable=portable)
        self._record(note.record, facts)
        return note

    def write_made(self, path: NotePath, data: bytes, expected: Etag | None, *, portable: bool = True) -> NoteFile:
        """Write a generated page. Nobody has changed it and it can be made again, so there is nothing to undo."""
        written = self.backend.write(path, data, expected, portable=portable)
        self.on_write(path)
        return self.note(path, data, written.etag, written.stat)

    def move(self, source: NotePath, target: NotePath) -> NoteFile:
        """Rename a file, as `StorageBackend.move` does, and return the note."""
        self.backend.move(source, target)
        self.on_write(source)
        self.on_write(target)
        moved = self.read(target)
        self._record(moved.record, {"kind": "moved", "other": source})
        return moved

    def remove_generated(self, path: NotePath, expected: Etag) -> None:
        """Remove a file whose bytes we generated. Raises NotFound, PreconditionFailed."""
        self.backend.remove_generated(path, expected)
        self.on_write(path)

    def is_page(self, path: str) -> bool:
        """Return whether this is where a topic has its page, or dreaming its proposals."""
        return path == self.layout.dreams or is_page(self.layout.below_home(path) or "")

    def change(
        self, path: NotePath, changed: Callable[[NoteFile | None, str], str], *, added: str | None = None
    ) -> NoteFile:
        """Publish the text that `changed` makes of a note (None: the file is missing) and its text, in which
        undecodable bytes are surrogates. Calls `changed` again if another writer was faster, and writes nothing if the
        text stays the same. `added` as for `write`.

        Raises the errors of `changed`, Refused for a file that isn't text or would be too large, StorageFailed."""
        for _ in range(ATTEMPTS):
            file, before = None, ""
            with suppress(NotFound):
                blob = self.read_bytes(path)
                before = editable_text(path, blob.data)
                file = self.note(path, blob.data, blob.etag, blob.stat)
            after = changed(file, before)
            if file and after == before:
                return file
            data = after.encode("utf-8", "surrogateescape")
            if len(data) > self.max_note_bytes:
                raise Refused(f"{path} would be larger than {self.max_note_bytes:,} bytes", hint="split it")
            try:
                return self.write(path, data, file.record.etag if file else None, added=added)
            except PreconditionFailed:
                continue
            except AlreadyExists:
                if self.find(path) is None:
                    raise  # not a faster writer: another name is in the way
        raise StorageFailed(f"{path} changes faster than it can be written", hint="try again")

    def stat(self, path: NotePath) -> FileStat:
        """Return a file's stat; its path is relative to its root. Raises NotFound, PathRefused, StorageFailed."""
        backend, inner = self._locate(path)
        return backend.stat(inner)

    def glance(self, path: NotePath) -> str | None:
        """Return a file's signature, as `StorageBackend.glance` does."""
        try:
            backend, inner = self._locate(path)
        except NotFound:
            return None
        return backend.glance(inner)

    def is_gone(self, path: NotePath) -> bool:
        """Return whether the note surely doesn't exist, rather than can't be read now."""
        try:
            self.stat(path)
        except (NotFound, PathRefused):
            return True
        except StorageFailed:
            return False
        return False

    def note(self, path: NotePath, data: bytes, etag: Etag, stat: FileStat, *, chained: bool = True) -> NoteFile:
        """Parse the bytes of a note. It stays forgotten even if another program has put its old bytes back."""
        file = read_note(path, data, etag, stat.signature, self.layout, self.kinds)
        record = file.record
        if not path.startswith("@"):
            if self._tombstones.hides(etag):
                record = replace(record, state=NoteState.DELETED)
            hidden = self._tombstones.entries(path)
            # the forgotten entries of `MEMORY.md`, unlike a log's, are gone from the file
            if is_memory(path) and hidden:
                hidden -= {entry.hash for entry in entries_of(path, file.text)}
            if hidden:
                entries = list(dict.fromkeys([*record.meta.get("forgotten", []), *sorted(hidden)]))
                record = replace(record, meta={**record.meta, "forgotten": entries})
        file = replace(file, record=record, settled=stat.settled)
        if not (chained and self.chains):
            return file
        return unless_odd(self.chains.resolved(file), lambda beside: self.read(beside, chained=False))

    def _describe_change(
        self, path: NotePath, data: bytes, expected: Etag | None, added: str | None
    ) -> Mapping[str, Any]:
        """Describe a write before it happens: the `kind` of the change and further facts."""
        run = current_caller().run or ""
        is_import = run.startswith(IMPORT)
        if added is not None:
            project = logs.labels([added.partition("\n")[0].removeprefix("## ")]).project
            entry = logs.entries(added)[0].hash
            return {"kind": "stored", "entry": entry, "before": expected, "project": project}
        if expected is None or self.is_page(path):
            kind = "imported" if is_import else "stored"
            return {"kind": kind, **(changed_entry("", data.decode("utf-8", "replace")) if is_memory(path) else {})}
        blob = self.backend.read(path)
        before, after = (read_note(path, text, expected, "", self.layout, self.kinds) for text in (blob.data, data))
        facts = describe_difference(before, after)
        is_edit = facts["kind"] == "edited"
        has_own_journal = run and not run.startswith((IMPORT, DECISION, DREAM))
        if not has_own_journal and (is_edit or not facts.get("entry") or path == self.layout.memory):
            self._changes.keep(after.record.id, blob.etag, blob.data, is_edit=is_edit)
        return {**facts, "before": expected}

    def _record(self, note: NoteRecord, facts: Mapping[str, Any]) -> None:
        """Record a change of the current caller's; a compaction's journal has the changes of pages."""
        if not self.is_page(note.path):
            by = current_caller()
            known = {"client": by.client, "session": by.session, "run": by.run, "undoes": by.undoes}
            facts = {"project": note.project, **known, **facts}
            at = self.clock().timestamp()
            self._changes.record(NoteChange(at=at, path=note.path, note=note.id, after=note.etag, **facts))

    def _locate(self, path: NotePath) -> tuple[StorageBackend, NotePath]:
        if not path.startswith("@"):
            return self.backend, path
        name, _, inner = path[1:].partition("/")
        if name not in self._sources:
            raise NotFound(f"no source named {name!r}", hint=f"known: {', '.join(self._sources) or 'none'}")
        return self._sources[name], NotePath(inner)


def _whole_characters(data: bytes) -> bytes:
    """Return the bytes without a last character that may have been cut in two."""
    for back in range(1, min(4, len(data)) + 1):
        if data[-back] < 0x80:
            break
        if data[-back] >= 0xC0:
            return data[:-back]
    return data
