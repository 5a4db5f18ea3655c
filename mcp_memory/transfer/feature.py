"""Takes notes into the vault and out of it, a few hundred at a time."""

from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from mcp_memory.core.core import Core, ErasedText, Feature, NoteCopies, Operation
from mcp_memory.core.serializers import Payload
from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.integrations import config_files, text_file
from mcp_memory.integrations.config_entries import taught_block, taught_items, with_taught_items
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget
from mcp_memory.models import Clock, Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.runtime.json_lines import PlaceList
from mcp_memory.runtime.threads import LONG_S, in_thread
from mcp_memory.vault.journals.change_journal import IMPORT, acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_import import WRITTEN, ImportResult, IncomingNote, mark_in
from mcp_memory.vault.vault import Vault


@dataclass(frozen=True)
class TaughtFiles(NoteCopies):
    """The copies of notes that `teach` wrote into files."""

    files: PlaceList
    clock: Clock

    def describe(self, erased: ErasedText) -> Iterator[str]:
        for file in self._find(erased)[0]:
            yield f"its lines in {file}, which teach put there"

    def beyond(self, erased: ErasedText) -> Iterator[str]:
        for file in self._find(erased)[1]:
            yield f"perhaps lines in {file}, which can't be read: look at it"

    def erase(self, erased: ErasedText) -> Sequence[NotePath]:
        for file in self._find(erased)[0]:
            text = text_file.read_text(file)
            items = [item for note, item in taught_items(text).items() if note not in erased.ids]
            new = with_taught_items(file.name, text, items).encode() or None
            target = ConfigTarget(file, (taught_block(file.name, items),))
            change = ConfigChange(target, text.encode(), new)
            config_files.check(change)
            config_files.apply(change, self.clock())
        return ()

    def _find(self, erased: ErasedText) -> tuple[list[Path], list[Path]]:
        """Return the files that contain the erased notes, and the files that can't be read."""
        found, unreadable = list[Path](), list[Path]()
        for file in self.files.read() if erased.ids else ():
            try:
                if {*erased.ids} & taught_items(text_file.read_text(file)).keys():
                    found.append(file)
            except McpMemoryError:
                unreadable.append(file)
        return found, unreadable


PAGE_NOTES = 2000
"""Notes per page of the catalog; a page has about a megabyte."""


class ImportDestination(NamedTuple):
    """The place for imported notes: `folder` in the managed folder. `mark` is the source's, so that two sources of one
    name get separate folders."""

    folder: str
    mark: str


@dataclass(frozen=True)
class NoteTransfer:
    """The import and export of notes, with parts of one engine and no state of its own."""

    vault: Vault
    index: Index
    writer: IndexWriter
    reconcile: Callable[[], Awaitable[object]]

    async def import_notes(
        self, incoming: Sequence[IncomingNote], destination: ImportDestination | None, *, dry_run: bool
    ) -> list[ImportResult]:
        """Import notes to the destination. Without a destination, import files of an exported vault to their own paths.
        Keyword search finds the notes when this returns; their vectors follow. Raises StorageFailed if only a part was
        imported."""

        def write() -> list[ImportResult]:
            folder = self._folder(destination) + "/" if destination else ""
            placed = [replace(note, path=NotePath(folder + note.path)) for note in incoming]
            return self.vault.importing.import_notes(
                placed,
                self.index.note_by_id,
                lambda note: self.index.find_content(note.content_hash, note.kind, note.project),
                dry_run=dry_run,
            )

        results: list[ImportResult] | None = None
        try:
            results = await in_thread(write, deadline_s=LONG_S, what="writing imported notes")
            return results
        finally:
            if not dry_run and (results is None or any(result.action in WRITTEN for result in results)):
                await self.reconcile()

    async def list_notes(self, after: str | None) -> tuple[list[NoteRecord], NotePath | None]:
        """Return a page of the vault's own notes in any state, ordered by path, from behind `after`. Also return the
        next `after`, None at the end."""
        if after is None:
            await self.reconcile()
        found = await in_thread(
            lambda: self.index.scan(self.writer.generation.number, NotePath(after) if after else None, PAGE_NOTES),
            what="reading the index",
        )
        own = [record for record in found if not record.path.startswith("@")]
        return own, found[-1].path if len(found) == PAGE_NOTES else None

    def _folder(self, destination: ImportDestination) -> str:
        folder = self.vault.layout.in_home(destination.folder)
        there = self.index.notes(Filters(states=frozenset(NoteState), path_prefix=f"{folder}/"))
        marks = {mark for record in there if (mark := mark_in(record.id))}
        is_taken = marks and destination.mark not in marks
        return f"{folder}-{destination.mark.lower()}" if is_taken else folder


def parse_incoming(item: Any) -> IncomingNote:
    """Parse an object with a `path`, `data` in base64, and perhaps an `id`. Raises InvalidInput."""
    try:
        path, note_id = NotePath(str(item["path"])), item.get("id")
        return IncomingNote(path, b64decode(item["data"], validate=True), NoteId(str(note_id)) if note_id else None)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput("an item has a path, data in base64, and perhaps an id") from error


def note_facts(record: NoteRecord) -> dict[str, Any]:
    """Return a note's metadata for an export, as plain JSON values."""
    names = ("path", "etag", "id", "title", "kind", "project", "source", "session", "always_load")
    dates = {name: getattr(record, name) for name in ("created", "updated", "expires_at")}
    return {
        **{name: getattr(record, name) for name in names},
        **{name: value.isoformat() if value else None for name, value in dates.items()},
        "shelf": record.state.value,
        "tags": list(record.all_tags),
        "forgotten": list(record.meta.get("forgotten", ())),
    }


@dataclass(frozen=True)
class ImportRequest:
    """`items` with `path`, `data` (base64) and `id`: for a `folder` of the managed folder, from the source `mark`; or
    without these, files of an exported vault for their own paths. `run` names the whole import, for `undo`."""

    items: Sequence[Mapping[str, Any]]
    folder: str | None = None
    mark: str = ""
    run: str = ""
    dry_run: bool = False


@dataclass(frozen=True)
class ExportRequest:
    """A page of what there is to export: what comes `after` the last page's `next`."""

    after: str | None = None


@dataclass(frozen=True)
class TaughtRequest:
    """Remembers a file outside the vault that a note is put into, so that erasing the note cleans it."""

    file: str


def build(core: Core) -> Feature:
    transfer = NoteTransfer(core.vault, core.index, core.indexing.writer, core.indexing.sweeper.reconcile)
    taught = PlaceList(core.config.state / "taught.jsonl", "file")

    async def import_notes(request: ImportRequest) -> Payload:
        destination = None if request.folder is None else ImportDestination(request.folder, request.mark)
        incoming = list(map(parse_incoming, request.items))
        with acting(Caller(run=f"{IMPORT}-{request.run or request.mark or 'vault'}")):
            taken = await transfer.import_notes(incoming, destination, dry_run=request.dry_run)
        return {"taken": [{"deed": note.action, "path": note.path, "why": note.why} for note in taken]}

    async def export_notes(request: ExportRequest) -> Payload:
        """List a page of notes. The files are read by the command that asked."""
        found, further = await transfer.list_notes(request.after)
        return {"notes": list(map(note_facts, found)), "next": further}

    async def remember_taught(request: TaughtRequest) -> Payload:
        await in_thread(taught.add, Path(request.file), what="remembering the file")
        return {}

    return Feature(
        operations={
            "import": Operation(ImportRequest, import_notes),
            "export": Operation(ExportRequest, export_notes),
            "taught": Operation(TaughtRequest, remember_taught),
        },
        copies=TaughtFiles(taught, core.clock),
    )
