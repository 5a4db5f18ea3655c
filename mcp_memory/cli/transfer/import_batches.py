"""Sends the notes of a source to the engine, a few hundred at a time."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from mcp_memory.daemon.engine_client import EngineSession
from mcp_memory.errors import InvalidInput
from mcp_memory.storage.path_rules import beside
from mcp_memory.transfer.formats.jsonl import ExportedFile
from mcp_memory.transfer.item import ImportItem, ImportSource, SourceReading, imported_id, seal_note, source_mark
from mcp_memory.transfer.target_paths import folder_of

BATCH_NOTES = 200
BATCH_BYTES = 2 << 20


@dataclass(frozen=True)
class ImportRow:
    """The outcome for a note: `name` in its source, `path` where it is or would be in the vault."""

    name: str
    path: str
    deed: str
    why: str = ""


class _SentNote(NamedTuple):
    """A note to send. `id` is None for a file of an exported vault."""

    name: str
    path: str
    data: bytes
    id: str | None = None


@dataclass(frozen=True)
class ImportBatches:
    """An import, named `run` for `undo`. `max_bytes` is the size limit of one question to a daemon. If `session` is
    None, the vault doesn't exist yet, so every note would be new."""

    session: EngineSession | None
    max_bytes: int
    run: str
    dry_run: bool

    def import_items(self, reading: SourceReading, places: Mapping[str, str]) -> Iterator[ImportRow]:
        """Import notes of another program. If a note was edited in the vault and has changed in its source since, put
        the source's version beside the edited note, once."""
        source = reading.source
        edited: list[ImportItem] = []
        by_name = {item.key: item for item in reading.items}
        refused: list[ImportRow] = []
        for row in self._send(_seal_items(source, reading.items, places, refused), source):
            if row.deed == "edited":
                edited.append(by_name[row.name])
            yield row
        for row in self._send(_second_versions(source, edited, places), source):
            if row.deed != "unchanged":
                yield replace(row, deed="beside") if row.deed == "new" else row
        yield from refused

    def import_files(self, files: Iterable[ExportedFile]) -> Iterator[ImportRow]:
        """Import files of an exported vault."""
        return self._send((_SentNote(file.path, file.path, file.data) for file in files), None)

    def _send(self, notes: Iterable[_SentNote], source: ImportSource | None) -> Iterator[ImportRow]:
        room = self.max_bytes * 3 // 4 - 65_536  # base64, and what surrounds it
        batch: list[_SentNote] = []
        size = 0
        for note in notes:
            if len(note.data) > room and self._is_served():
                why = "it is larger than the daemon takes: stop it, and import again"
                yield ImportRow(note.name, note.path, "refused", why)
                continue
            if batch and (len(batch) == BATCH_NOTES or size + len(note.data) > min(BATCH_BYTES, room)):
                yield from self._send_batch(batch, source)
                batch, size = [], 0
            batch.append(note)
            size += len(note.data) + len(note.path) + 200
        if batch:
            yield from self._send_batch(batch, source)

    def _send_batch(self, batch: list[_SentNote], source: ImportSource | None) -> Iterator[ImportRow]:
        items = [{"path": note.path, "id": note.id, "data": b64encode(note.data).decode("ascii")} for note in batch]
        destination = {"folder": folder_of(source), "mark": source_mark(source)} if source else {}
        if self.session is None:
            above = f"{destination['folder']}/" if source else ""
            yield from (ImportRow(note.name, above + note.path, "new") for note in batch)
            return
        answer = self.session.ask("import", {"items": items, "run": self.run, "dry_run": self.dry_run, **destination})
        for note, result in zip(batch, answer["taken"], strict=True):
            yield ImportRow(note.name, result["path"], result["deed"], result["why"])

    def _is_served(self) -> bool:
        if self.session is None:
            return False
        if self.session.is_served is None:
            self.session.ask("import", {"items": []})
        return bool(self.session.is_served)


def _seal_items(
    source: ImportSource, items: Iterable[ImportItem], places: Mapping[str, str], refused: list[ImportRow]
) -> Iterator[_SentNote]:
    """Yield the sealed notes, and add a row to `refused` for each item that can't be made into a note."""
    for item in items:
        try:
            note_id = imported_id(source, item.key)
            yield _SentNote(
                item.key, places[item.key], seal_note(item, source, note_id, _origin(source, item)), note_id
            )
        except InvalidInput as error:
            refused.append(ImportRow(item.key, places[item.key], "refused", error.message))


def _second_versions(
    source: ImportSource, items: Iterable[ImportItem], places: Mapping[str, str]
) -> Iterator[_SentNote]:
    """Yield the same notes under a path and an id that belong only to this version."""
    for item in items:
        path = beside(places[item.key], f" (imported {item.digest[:8]})")
        note_id = imported_id(source, f"{item.key}@{item.digest}")
        yield _SentNote(item.key, path, seal_note(item, source, note_id, _origin(source, item)), note_id)


def _origin(source: ImportSource, item: ImportItem) -> str:
    """Return the place that a note comes from, for its frontmatter."""
    return f"{source.kind}:{source.root}{'/' if source.root.is_dir() else '#'}{item.key}"
