"""Imports notes a few hundred at a time, and lists all notes for an export."""

from __future__ import annotations

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
"""Of a catalogue: about a megabyte."""


@dataclass(frozen=True, slots=True)
class ImportDestination:
    """`folder` is below home; `mark` is that of the source, so that two sources of one name get a folder each."""

    folder: str
    mark: str


class Transfer:
    """Works on the parts of one engine; holds no state of its own."""

    def __init__(
        self, vault: Vault, index: Index, writer: IndexWriter, reconcile: Callable[[], Awaitable[object]]
    ) -> None:
        self._vault = vault
        self._index = index
        self._writer = writer
        self._reconcile = reconcile

    async def import_notes(
        self, incoming: Sequence[IncomingNote], destination: ImportDestination | None, *, dry_run: bool
    ) -> list[ImportResult]:
        """Notes for the destination, or (None) files of an exported vault for their own paths. They are found by their
        words when this returns, their vectors follow. Raises StorageFailed: then a part of them is in."""

        def take() -> list[ImportResult]:
            folder = self._folder(destination) + "/" if destination else ""
            placed = [replace(each, path=NotePath(folder + each.path)) for each in incoming]
            return self._vault.importing.import_notes(placed, self._index.note_by_id, self._same, dry_run=dry_run)

        taken: list[ImportResult] | None = None
        try:
            taken = await in_thread(take, deadline_s=LONG_S, what="writing imported notes")
            return taken
        finally:
            if not dry_run and (taken is None or any(each.action in WRITTEN for each in taken)):
                await self._reconcile()

    async def list_notes(self, after: str | None) -> tuple[list[NoteRecord], NotePath | None]:
        """A page of the vault's own notes, whatever their state, in order of path from behind `after`; and where to go
        on, None at the end."""
        if after is None:
            await self._reconcile()
        found = await in_thread(
            lambda: self._index.scan(self._writer.generation.number, NotePath(after) if after else None, PAGE_NOTES),
            what="reading the index",
        )
        own = [record for record in found if not record.path.startswith("@")]
        return own, found[-1].path if len(found) == PAGE_NOTES else None

    def _folder(self, destination: ImportDestination) -> str:
        folder = self._vault.layout.in_home(destination.folder)
        there = self._index.notes(Filters(states=frozenset(NoteState), path_prefix=f"{folder}/"))
        marks = {mark for record in there if (mark := mark_in(record.id))}
        is_anothers = marks and destination.mark not in marks
        return f"{folder}-{destination.mark.lower()}" if is_anothers else folder

    def _same(self, record: NoteRecord) -> list[NoteRecord]:
        return self._index.find_content(record.content_hash, record.kind, record.project)


def parse_incoming(item: Any) -> IncomingNote:
    """Of an object with a `path`, `data` in base64, and perhaps an `id`. Raises InvalidInput."""
    try:
        path, given = str(item["path"]), item.get("id")
        return IncomingNote(
            NotePath(path), b64decode(item["data"], validate=True), NoteId(str(given)) if given else None
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput("an item has a path, data in base64, and perhaps an id") from error


def note_facts(record: NoteRecord) -> dict[str, Any]:
    """All that an export says of a note, as plain JSON values."""
    names = ("path", "etag", "id", "title", "kind", "project", "source", "session", "always_load")
    dates = {name: getattr(record, name) for name in ("created", "updated", "expires_at")}
    return {
        **{name: getattr(record, name) for name in names},
        **{name: value.isoformat() if value else None for name, value in dates.items()},
        "shelf": record.state.value,
        "tags": list(record.tags),
        "forgotten": list(record.meta.get("forgotten", ())),
    }
