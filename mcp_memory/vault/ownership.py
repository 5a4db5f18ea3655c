"""Decide who may change a note, by its path and the ledger, never by what the file claims."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from mcp_memory.client.credentials import PERSON
from mcp_memory.errors import McpMemoryError, NotFound, PathRefused, Refused, StorageFailed
from mcp_memory.models import NoteId, NotePath, NoteRecord
from mcp_memory.topics.page import PAGE, is_page
from mcp_memory.topics.page_parts import RELATED_PART, TITLE, is_sealed, parts_of
from mcp_memory.vault.draft import Draft
from mcp_memory.vault.journals.change_journal import DISK, DREAM
from mcp_memory.vault.journals.ledger import Ledger, LedgerEntry, entry_id, max_standing
from mcp_memory.vault.note_file import ALWAYS_LOAD, Layout, NoteFile
from mcp_memory.vault.note_store import NoteStore

PAGE_KIND = "summary"  # of a page in the ledger
SHARED, TITLED = "shared", "titled"
"""The words before the hash of a page that we wrote with your words in it, or with only your title."""

PERSONS_SOURCES = frozenset({None, PERSON, DISK, DREAM})
"""The sources that write for the person: an edit by hand, a terminal, and dreaming with their ticks."""

PROMISED = "promised"
"""The voice of what an agent promised itself."""


def is_persons(note: NoteRecord) -> bool:
    """Return whether a note is the person's own, or was captured from what they said or agreed to."""
    return note.source in PERSONS_SOURCES or note.meta.get("voice", PROMISED) != PROMISED


def author_of(note: NoteRecord) -> str | None:
    """Return the agent that wrote a note; None if it is the person's, or imported."""
    return None if is_persons(note) or note.is_foreign else note.source


OwnershipTier = Literal["source", "personal", "curated", "agent"]
"""The owners of a note, from the least to the most that agents may do with it."""


def tier_of(path: str, *, layout: Layout, vouched: bool) -> OwnershipTier:
    """Return the tier of a path. `vouched`: the ledger knows the note."""
    if path.startswith("@"):
        return "source"
    inner = layout.below_home(path)
    if path == layout.memory or path.startswith(f"{layout.log_folder}/"):
        return "curated"
    if inner is None:
        return "personal"
    if inner.startswith(f"{ALWAYS_LOAD}/"):
        return "curated"
    return "agent" if vouched else "personal"


def may_retire(
    path: str, tier: OwnershipTier, *, layout: Layout, by_person: bool = False, is_order: bool = False
) -> None:
    """Raise Refused if a tool may not forget or supersede this note; you may do so with personal notes, and with those
    that are always loaded (`is_order`)."""
    inner = layout.below_home(path) or ""
    if tier == "source":
        raise Refused(f"{path} belongs to a read-only source", hint="change it in the source")
    if tier == "personal" and not by_person:
        raise Refused(
            f"{path} is a personal note: this installation did not write it",
            hint="the user can edit the file, or forget it at the command line"
            + (f", or hand it over: mcp-memory adopt {path}" if layout.below_home(path) is not None else ""),
        )
    if is_order and not by_person:
        raise Refused(f"{path} is always loaded; agents may not change it", hint="edit or move the file by hand")
    if is_page(inner):
        raise Refused(f"{path} is made from other notes", hint="forget those; the next compaction rewrites the page")
    if path == layout.memory:
        raise Refused("MEMORY.md is curated", hint="name one entry: memory_recall path=MEMORY.md shows their ids")


@dataclass(frozen=True)
class Provenance:
    """The provenance of notes: from the ledger, which notes this installation wrote or adopted, and where they are now.
    Thread-safe."""

    notes: NoteStore
    ledger: Ledger

    def announce(self, draft: Draft, note_id: NoteId, path: NotePath, now: datetime) -> None:
        """Record a draft before it is published. Raises StorageFailed."""
        content, kind, at = draft.content_hash, draft.kind.name, now.timestamp()
        self.ledger.record(LedgerEntry(note_id, path, content, kind, draft.project, draft.session, at))

    def announce_entry(self, draft: Draft, entry: str, now: datetime) -> None:
        """Record an agent's entry of `MEMORY.md` before it is published; the person's own aren't recorded. Raises
        StorageFailed."""
        if draft.source not in PERSONS_SOURCES:
            memory = self.notes.layout.memory
            self.announce(draft, entry_id(memory, entry), memory, now)

    def adopt(self, file: NoteFile, *, dry_run: bool = False) -> NoteId | None:
        """Vouch from now on for a note in the managed folder that this installation did not write, or for a topic's
        page that another installation made; None if it needs no adoption. Raises Refused for a note elsewhere,
        StorageFailed."""
        record, path = file.record, file.record.path
        layout = self.notes.layout
        inner = layout.below_home(path)
        if path.startswith("@") or inner is None:
            raise Refused(
                f"{path} is outside the managed folder", hint=f"move it below {layout.home or 'the vault'} first"
            )
        if record.is_log or self.vouches(path, record.id):
            return None  # every agent may add to a log, wherever it is
        entry = replace(LedgerEntry.of(record, self.notes.clock()), standing="adopted")
        if is_page(inner):
            entry = replace(entry, content=record.etag, kind=PAGE_KIND)
            if path.endswith(f"/{PAGE}"):
                if not is_sealed(file.text):
                    return None  # edited elsewhere: only the other device knows which words are whose
                parts = {**parts_of(file.text), TITLE: (), RELATED_PART: ()}  # the seal covers neither
                entry = replace(entry, content=f"{TITLED} {record.etag}", parts=parts)
        if not dry_run:
            self.ledger.record(entry)
        return record.id

    def adopted_places(self, file: NoteFile) -> list[tuple[NotePath, NoteId]]:
        """Return the places to `revoke` so that the note is no longer the agents'; none if we wrote it or never adopted
        it. Includes places that the note has left, but not places with a copy of it."""
        path, note_id = file.record.path, file.record.id
        standings = self.ledger.standings(note_id)
        if not self.vouches(path, note_id) or standings.get(path, max_standing(standings.values())) == "written":
            return []
        return [
            (place, note_id)
            for place, standing in standings.items()
            if standing == "adopted" and (place == path or not self._holds(place, note_id))
        ]

    def revoke(self, places: Iterable[tuple[NotePath, NoteId]]) -> None:
        """End the adoption of these notes. Raises StorageFailed."""
        at = self.notes.clock().timestamp()
        self.ledger.record(
            *(LedgerEntry(note_id, path, "", "", None, None, at, standing="revoked") for path, note_id in places)
        )

    def vouches(self, path: NotePath, note_id: NoteId) -> bool:
        """Return whether the note is ours by the ledger: its id was put at this place, or at another place that the
        note has left. A file with the id of a note that is still in its place is a copy."""
        places = self.ledger.standings(note_id)
        if path in places:
            return places[path] != "revoked"
        known = self.ledger.places_of(note_id)
        return bool(known) and not any(self._holds(place, note_id) for place in known)

    def is_standing_order(self, note: NoteRecord) -> bool:
        """Return whether every session starts with the note: it is in `_always-load/`, or its head asks for that and we
        wrote or you adopted it. No tool and no import writes `always_load`, only you and your ticks in DREAMS.md."""
        inner = self.notes.layout.below_home(note.path) or ""
        return inner.startswith(f"{ALWAYS_LOAD}/") or (note.always_load and self.vouches(note.path, note.id))

    def known_ids(self, path: NotePath, file: NoteFile | None, is_known: Callable[[NoteId], bool]) -> set[NoteId]:
        """Return the ids under which we know the note that is (`file`) or was at `path`, without copies and notes that
        have moved away. `is_known`: whether a note with this id is anywhere."""
        earlier = {note_id for note_id in self.ledger.ids_at(path) if not is_known(note_id)}
        if file and (self.vouches(path, file.record.id) or path in self.ledger.standings(file.record.id)):
            return {file.record.id, *earlier}
        return earlier

    def find_note(self, note_id: NoteId) -> NoteFile | None:
        """Return the note at the last place where we put it, if it still is there."""
        for place in reversed(self.ledger.places_of(note_id)):
            with suppress(McpMemoryError):
                if (file := self.notes.read(place)).record.id == note_id:
                    return file
        return None

    def _holds(self, path: NotePath, note_id: NoteId) -> bool:
        try:
            return self.notes.read(path).record.id == note_id
        except (NotFound, Refused, PathRefused, StorageFailed):
            return False
