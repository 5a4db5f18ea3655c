"""List notes and log entries, the newest first, and count them. Reads the index: call it in a thread."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

from mcp_memory.client.credentials import PERSON
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteRecord, NoteState
from mcp_memory.search.filters import EARLIEST
from mcp_memory.text.markdown import logs
from mcp_memory.vault.journals.change_journal import DISK
from mcp_memory.vault.note_file import derive_title
from mcp_memory.vault.succession.entry_marks import admits, note_of

MOST_NOTES = 1_000_000
RETIRED = frozenset({NoteState.ACTIVE, NoteState.ARCHIVED})
"""The states to search for retired notes: expired notes are still active."""
_LONGEST_DAY = timedelta(hours=25)


def newest_notes(
    index: Index, filters: Filters, limit: int, now: datetime, client: str | None, session: str | None
) -> tuple[list[NoteRecord], bool]:
    """Return up to `limit` notes, log entries with their own facts, and whether there are more; only of this client or
    session, if named. With the states `RETIRED`, only retired notes."""
    since, until = filters.since, filters.until
    if since:  # a log is dated midnight
        filters = replace(filters, since=max(since, EARLIEST) - _LONGEST_DAY)

    def is_wanted(note: NoteRecord) -> bool:
        return (
            client in (None, client_of(note))
            and session in (None, note.session)
            and (filters.states != RETIRED or note.status(now) != "active")
            and (since is None or date_of(note) >= since)
            and (until is None or date_of(note) < until)
        )

    size = limit + 1
    while True:
        notes = index.notes(filters, size)
        found = [one for note in notes for one in _entries(index, note, filters) if is_wanted(one)]
        found.sort(key=date_of, reverse=True)
        # Entries of the last note's day may be missing: their log, dated midnight, comes after the notes of that day.
        if len(notes) < size or sum(date_of(one) > date_of(notes[-1]) + _LONGEST_DAY for one in found) > limit:
            return found[:limit], len(found) > limit
        size *= 4


def date_of(note: NoteRecord) -> datetime:
    """Return the note's date; a note without a date comes before all others."""
    return note.date or datetime.min.replace(tzinfo=UTC)


def client_of(note: NoteRecord) -> str:
    """Return the client's name for a person: `you` for the person, or `disk` for a change by hand."""
    return {PERSON: "you", None: DISK}.get(note.source) or str(note.source)


def count_notes(index: Index, filters: Filters) -> dict[str, Any]:
    """Count the active notes and each log entry by kind, project and client, and the files in each other state."""
    found = [one for note in index.notes(filters, MOST_NOTES) for one in _entries(index, note, filters)]
    others = {state: Filters(states=frozenset({state})) for state in NoteState if state is not NoteState.ACTIVE}
    return {
        "notes": len(found),
        "by_kind": Counter(one.kind for one in found),
        "by_project": Counter(one.project or "" for one in found),
        "by_client": Counter(map(client_of, found)),
        "besides": {state.value: len(index.notes(alone, MOST_NOTES)) for state, alone in others.items()},
    }


def _entries(index: Index, note: NoteRecord, filters: Filters) -> Iterator[NoteRecord]:
    """Yield the note itself, or each entry of a log that passes the filters."""
    passages = index.passages(note.path) if note.is_log else []
    entries = {passage.chunk.entry: passage for passage in reversed(passages) if passage.chunk.entry}
    for passage in entries.values():
        if admits(filters, passage):
            own, chunk, day = note_of(passage), passage.chunk, note.created
            at = day and chunk.time and datetime.combine(day, time.fromisoformat(chunk.time), day.tzinfo)
            title = logs.title_and_labels(chunk.headings)[0] or derive_title(chunk.text)
            source = own.source or PERSON  # agents put their name into the heading
            yield replace(own, id=passage.shown_id, title=title, source=source, created=at or day, updated=None)
    if not entries:
        yield note
