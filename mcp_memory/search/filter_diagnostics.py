"""What a caller's filters took out of an answer, and which of them left no note to look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mcp_memory.index.base import Index
from mcp_memory.models import FilteredOut, Filters, NoteRecord, NoteState, Passage
from mcp_memory.search.filters import note_of

FIELDS = {
    "path": "path_prefix", "kinds": "kinds", "tags": "tags", "project": "project", "since": "since", "until": "until",
    "session": "session",
}  # fmt: skip
"""Each filter by the name that a caller knows it by."""

ARCHIVED = "include_archived=false"


def emptied_by(index: Index, filters: Filters) -> str:
    """One line for the reader. Asks the index for one note per filter, so only for answers without any hit."""
    if index.notes(filters, limit=1):
        return "no passage has any of these words"
    narrow = [name for name, relaxed in _relaxed(filters) if index.notes(relaxed, limit=1)]
    if narrow:
        return f"no note passes the filter {' or '.join(narrow)}; without it there are some"
    if index.notes(Filters(states=filters.states, now=filters.now), limit=1):
        return "no note passes these filters together"
    if index.notes(
        Filters(states=frozenset(NoteState) - {NoteState.DELETED, NoteState.INBOX, NoteState.TRANSCRIPT}), limit=1
    ):
        return "only archived or expired notes are there; include_archived=true looks at them"
    return "there are no notes yet"


def widened(filters: Filters) -> Filters:
    """Without what a caller can set; what nobody may see stays out."""
    return Filters(states=filters.states | {NoteState.ACTIVE, NoteState.ARCHIVED})


def left_out(passages: Iterable[Passage], filters: Filters) -> tuple[FilteredOut, ...]:
    """Those of notes that do not pass, and what they do not pass."""
    return tuple(
        FilteredOut(each.shown_id, each.note.path, each.chunk.start_line, each.chunk.end_line, each.note.title, failed)
        for each in passages
        if (failed := not_passed(note_of(each), filters))
    )


def not_passed(note: NoteRecord, filters: Filters) -> tuple[str, ...]:
    """The filters that leave this note out."""
    every = Filters(states=frozenset(NoteState))
    one_each = ((name, replace(every, **{field: getattr(filters, field)})) for name, field in FIELDS.items())
    failed = [name for name, alone in one_each if not alone.admits(note)]
    retired = note.state is NoteState.ARCHIVED and NoteState.ARCHIVED not in filters.states
    if retired or not replace(every, now=filters.now).admits(note):
        failed.append(ARCHIVED)
    return tuple(failed)


def _relaxed(filters: Filters) -> Iterator[tuple[str, Filters]]:
    """Each filter that is set, with the filters that remain without it."""
    for name, field in FIELDS.items():
        if getattr(filters, field) is not None:
            yield name, replace(filters, **{field: None})
    if NoteState.ARCHIVED not in filters.states:
        yield ARCHIVED, replace(filters, states=filters.states | {NoteState.ARCHIVED}, now=None)
