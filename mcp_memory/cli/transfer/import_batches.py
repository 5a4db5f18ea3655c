"""Taking in: what was read of a source, sent to the engine a few hundred notes at a time."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from mcp_memory.cli.engine_session import EngineSession
from mcp_memory.errors import InvalidInput
from mcp_memory.storage.path_rules import beside
from mcp_memory.transfer.formats.archive import ArchivedFile
from mcp_memory.transfer.import_provenance import imported_id, seal_note, source_mark
from mcp_memory.transfer.item import ImportItem, ImportSource, SourceReading
from mcp_memory.transfer.target_paths import folder_of

BATCH_NOTES = 200
BATCH_BYTES = 2 << 20

Tick = Callable[[], None]
"""Is called for each note that is done."""


@dataclass(frozen=True, slots=True)
class ImportRow:
    """What became of a note: `name` is what its source calls it, `path` where it is or would be in the vault."""

    name: str
    path: str
    deed: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A note on its way; `id` is None for a file of an exported vault."""

    name: str
    path: str
    data: bytes
    id: str | None = None


class ImportBatches:
    """One import. `most_bytes` is what one question to a daemon may hold; without a session there is no vault yet, and
    all would be new."""

    def __init__(self, session: EngineSession | None, most_bytes: int, *, dry_run: bool) -> None:
        self._session = session
        self._room = most_bytes * 3 // 4 - 65_536  # base64, and what is around it
        self._dry_run = dry_run

    def notes(self, reading: SourceReading, places: Mapping[str, str], tick: Tick) -> Iterator[ImportRow]:
        """Of another program. Where a note was edited in the vault and has changed in its source since, the source's
        version comes to stand beside the edited one, once."""
        source = reading.source
        edited: list[ImportItem] = []
        by_name = {item.key: item for item in reading.items}
        odd: list[ImportRow] = []
        for row in self._send(_made(source, reading.items, places, odd), source):
            tick()
            if row.deed == "edited":
                edited.append(by_name[row.name])
            yield row
        for row in self._send(_second(source, edited, places), source):
            if row.deed != "unchanged":
                yield replace(row, deed="beside") if row.deed == "new" else row
        yield from odd

    def files(self, files: Iterable[ArchivedFile], tick: Tick) -> Iterator[ImportRow]:
        """Of an exported vault."""
        for row in self._send((_Sent(file.path, file.path, file.data) for file in files), None):
            tick()
            yield row

    def _send(self, notes: Iterable[_Sent], source: ImportSource | None) -> Iterator[ImportRow]:
        batch: list[_Sent] = []
        size = 0
        for note in notes:
            if len(note.data) > self._room and self._is_served():
                why = "it is larger than the daemon takes (daemon.max_body_bytes): stop it, and import again"
                yield ImportRow(note.name, note.path, "refused", why)
                continue
            if batch and (len(batch) == BATCH_NOTES or size + len(note.data) > min(BATCH_BYTES, self._room)):
                yield from self._sent(batch, source)
                batch, size = [], 0
            batch.append(note)
            size += len(note.data) + len(note.path) + 200
        if batch:
            yield from self._sent(batch, source)

    def _sent(self, batch: list[_Sent], source: ImportSource | None) -> Iterator[ImportRow]:
        items = [{"path": each.path, "id": each.id, "data": b64encode(each.data).decode("ascii")} for each in batch]
        destination = {"folder": folder_of(source), "mark": source_mark(source)} if source else {}
        if self._session is None:
            above = f"{destination['folder']}/" if source else ""
            yield from (ImportRow(note.name, above + note.path, "new") for note in batch)
            return
        said = self._session.ask("import", {"items": items, "dry_run": self._dry_run, **destination})
        for note, taken in zip(batch, said["taken"], strict=True):
            yield ImportRow(note.name, taken["path"], taken["deed"], taken["why"])

    def _is_served(self) -> bool:
        if self._session is None:
            return False
        if self._session.is_served is None:
            self._session.ask("import", {"items": []})
        return bool(self._session.is_served)


def _made(
    source: ImportSource, items: Iterable[ImportItem], places: Mapping[str, str], odd: list[ImportRow]
) -> Iterator[_Sent]:
    """What cannot be made is added to the `odd` ones."""
    for item in items:
        try:
            note_id = imported_id(source, item.key)
            yield _Sent(item.key, places[item.key], seal_note(item, source, note_id, origin(source, item)), note_id)
        except InvalidInput as error:
            odd.append(ImportRow(item.key, places[item.key], "refused", error.message))


def _second(source: ImportSource, items: Iterable[ImportItem], places: Mapping[str, str]) -> Iterator[_Sent]:
    """The same notes to stand beside themselves, under a name and an id that are of this version alone."""
    for item in items:
        path = beside(places[item.key], f" (imported {item.digest[:8]})")
        note_id = imported_id(source, f"{item.key}@{item.digest}")
        yield _Sent(item.key, path, seal_note(item, source, note_id, origin(source, item)), note_id)


def origin(source: ImportSource, item: ImportItem) -> str:
    """Where a note comes from, as its frontmatter says it."""
    if source.root.is_dir():
        return f"{source.kind}:{source.root}/{item.key}"
    return f"{source.kind}:{source.root}#{item.key}"
