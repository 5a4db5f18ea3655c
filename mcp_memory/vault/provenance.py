"""Vouching: which notes this installation wrote or took over, as its ledger tells."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from mcp_memory.errors import NotFound, PathRefused, Refused, StorageFailed
from mcp_memory.models import NoteId, NotePath, NoteRecord
from mcp_memory.vault.draft import Draft
from mcp_memory.vault.ledger import Ledger, LedgerEntry, max_standing
from mcp_memory.vault.reader import Reader


class Provenance:
    """Asks and tells the ledger. Thread-safe."""

    def __init__(self, ledger: Ledger, reader: Reader) -> None:
        self._ledger = ledger
        self._reader = reader

    def announce(self, draft: Draft, note_id: NoteId, path: NotePath, now: datetime) -> None:
        """To be called before a draft is published. Raises StorageFailed."""
        self._ledger.record(
            LedgerEntry(
                note_id, path, draft.content_hash, draft.kind.name, draft.project, draft.session, now.timestamp()
            )
        )

    def adopt(self, record: NoteRecord, now: datetime) -> None:
        """From now on the note counts as ours. Raises StorageFailed."""
        self._ledger.record(
            LedgerEntry(
                record.id,
                record.path,
                record.content_hash,
                record.kind,
                record.project,
                None,
                now.timestamp(),
                standing="adopted",
            )
        )

    def adopted(self, path: NotePath, note_id: NoteId) -> list[NotePath]:
        """The places to revoke so that this note counts as ours no longer; none where we wrote it, or never took it
        over. A place that the note has left goes along; one that holds a copy of it does not."""
        standings = self._ledger.standings(note_id)
        if not self.vouches(path, note_id) or standings.get(path, max_standing(standings.values())) == "written":
            return []
        return [
            place
            for place, standing in standings.items()
            if standing == "adopted" and (place == path or not self._carries(place, note_id))
        ]

    def revoke(self, places: Iterable[tuple[NotePath, NoteId]], now: datetime) -> None:
        """From now on adoption vouches for these no longer. Raises StorageFailed."""
        at = now.timestamp()
        lines = [LedgerEntry(each, path, "", "", None, None, at, standing="revoked") for path, each in places]
        self._ledger.record(*lines)

    def vouches(self, path: NotePath, note_id: NoteId) -> bool:
        """Whether the ledger knows the note: its id, at the place where it was put, or moved from there, unless that
        was revoked. A file with the id of a note that is still in its place is a copy, whoever made it."""
        places = self._ledger.standings(note_id)
        if path in places:
            return places[path] != "revoked"
        places = self._ledger.places_of(note_id)
        return bool(places) and not any(self._carries(place, note_id) for place in places)

    def _carries(self, path: NotePath, note_id: NoteId) -> bool:
        try:
            return self._reader.read(path).record.id == note_id
        except (NotFound, Refused, PathRefused, StorageFailed):
            return False
