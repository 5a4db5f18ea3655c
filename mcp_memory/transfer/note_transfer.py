"""Imports notes a few hundred at a time, and lists all notes for an export."""

from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_memory.errors import InvalidInput
from mcp_memory.index.base import Index
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.runtime.threads import LONG_S, in_thread
from mcp_memory.vault.note_import import WRITTEN, ImportResult, IncomingNote, mark_in
from mcp_memory.vault.vault import Vault

PAGE_NOTES = 2000
"""Notes per page of the catalog; a page has about a megabyte."""


@dataclass(frozen=True, slots=True)
class ImportDestination:
    """The place for imported notes: `folder` in the managed folder. `mark` is the source's, so that two sources of one
    name get separate folders."""

    folder: str
    mark: str


@dataclass(frozen=True, slots=True)
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
            return self.vault.importing.import_notes(placed, self.index.note_by_id, self._same, dry_run=dry_run)

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

    def _same(self, record: NoteRecord) -> list[NoteRecord]:
        return self.index.find_content(record.content_hash, record.kind, record.project)


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
