"""Reads a vault and its sources as one tree: the vault at the root, each source under `@name/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mcp_memory.errors import NotFound, PathRefused, StorageFailed
from mcp_memory.models import Etag, FileStat, NotePath, NoteState, Problem
from mcp_memory.storage.base import Listing, StorageBackend
from mcp_memory.text.chunking.chunker import MAX_CHARS
from mcp_memory.text.markdown import logs
from mcp_memory.vault.config import NoteKinds
from mcp_memory.vault.journals.tombstones import Tombstones
from mcp_memory.vault.note_file import Layout, NoteFile, read_note


class Reader:
    """Knows which back end a path belongs to, and makes notes of bytes. Thread-safe."""

    def __init__(
        self,
        backend: StorageBackend,
        sources: Mapping[str, StorageBackend],
        *,
        layout: Layout,
        kinds: NoteKinds,
        max_note_bytes: int,
        tombstones: Tombstones | None,
    ) -> None:
        """Without `tombstones` nothing is known to be forgotten but what files say of themselves."""
        self.layout = layout
        self.kinds = kinds
        self._backend = backend
        self._sources = dict(sources)
        self.max_note_bytes = max_note_bytes
        self._tombstones = tombstones

    def list(self) -> Listing:
        """The vault's files and those of every source.

        `complete` speaks of the vault alone; a source that could not be listed is in `missing`, and a problem.
        """
        own = self._backend.list()
        files = {path: stat for path, stat in own.files.items() if not path.startswith("@")}
        problems = list(own.problems)
        problems += [
            Problem(path, "names that start with @ are kept for sources: rename it")
            for path in own.files
            if path.startswith("@")
        ]
        folders = {folder: each for folder, each in own.folders.items() if not folder.startswith("@")}
        ignored, missing = own.ignored, set[str]()
        for name, backend in self._sources.items():
            below = backend.list()
            for path, stat in below.files.items():
                full = NotePath(f"@{name}/{path}")
                files[full] = replace(stat, path=full)
            folders |= {NotePath(f"@{name}/{folder}".rstrip("/")): each for folder, each in below.folders.items()}
            ignored += below.ignored
            if below.complete:
                problems += [replace(each, path=f"@{name}/{each.path}") for each in below.problems]
            else:
                missing.add(f"@{name}/")
                cause = below.problems[-1].reason if below.problems else "not readable"
                where = below.problems[-1].path if below.problems else name
                problems.append(Problem(f"@{name}", f"source {where} not listed: {cause}; see [vault.sources]"))
        return Listing(files, problems, ignored, own.complete, folders, frozenset(missing))

    def read(self, path: NotePath) -> NoteFile:
        """The note; of a file over the size limit what its beginning holds, and `problem` says so.

        Raises NotFound, PathRefused, StorageFailed.
        """
        backend, inner = self._locate(path)
        blob = backend.read(inner, limit_bytes=self.max_note_bytes, beginning=True)
        if blob.whole:
            return self.note(path, blob.data, blob.etag, blob.stat)
        file = self.note(path, _whole_characters(blob.data), blob.etag, blob.stat)
        said = f"read only up to {self.max_note_bytes:,} bytes (vault.max_note_bytes): split the file"
        return _begun(file, f"{file.record.problem}; {said}" if file.record.problem else said)

    def stat(self, path: NotePath) -> FileStat:
        """Raises NotFound, PathRefused, StorageFailed. The stat's own path is the one inside its root."""
        backend, inner = self._locate(path)
        return backend.stat(inner)

    def glance(self, path: NotePath) -> str | None:
        """As `StorageBackend.glance`."""
        try:
            backend, inner = self._locate(path)
        except NotFound:
            return None
        return backend.glance(inner)

    def is_gone(self, path: NotePath) -> bool:
        """Whether there is surely no note any more, rather than one that cannot be looked at now."""
        try:
            self.stat(path)
        except (NotFound, PathRefused):
            return True
        except StorageFailed:
            return False
        return False

    def note(self, path: NotePath, data: bytes, etag: Etag, stat: FileStat) -> NoteFile:
        """The note that these bytes are; what was forgotten is, also where somebody brought the very bytes back."""
        file = read_note(path, data, etag, stat.signature, self.layout, self.kinds)
        record = file.record
        if self._tombstones and not path.startswith("@"):
            if self._tombstones.hides(etag):
                record = replace(record, state=NoteState.DELETED)
            if record.is_log and (hidden := self._tombstones.entries(path)):
                said = record.meta.get("forgotten", [])
                all_of_them = list(dict.fromkeys([*said, *sorted(hidden)]))
                record = replace(record, meta={**record.meta, "forgotten": all_of_them})
        return replace(file, record=record, settled=stat.settled)

    def _locate(self, path: NotePath) -> tuple[StorageBackend, NotePath]:
        if not path.startswith("@"):
            return self._backend, path
        name, _, inner = path[1:].partition("/")
        if name not in self._sources:
            raise NotFound(f"no source named {name!r}", hint=f"known: {', '.join(self._sources) or 'none'}")
        return self._sources[name], NotePath(inner)


def _whole_characters(data: bytes) -> bytes:
    """Without a last character that may have been cut in two."""
    for back in range(1, min(4, len(data)) + 1):
        if data[-back] < 0x80:
            break
        if data[-back] >= 0xC0:
            return data[:-back]
    return data


def _begun(file: NoteFile, problem: str) -> NoteFile:
    """In a log only whole entries: half an entry has another hash, so it could not be forgotten, nor stay so. Of a
    longer text chunking leaves it out."""
    record, text = replace(file.record, problem=problem), file.text
    if record.is_log and len(text) <= MAX_CHARS and (entries := logs.entries(text, file.body_start)):
        text = text[: entries[-1].start]
    return replace(file, record=record, text=text)
