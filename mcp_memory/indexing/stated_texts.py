"""Read the statements of notes and log entries, and find those that share most words with another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time
from itertools import groupby
from typing import NamedTuple

from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.same_form import Contradiction
from mcp_memory.index.base import Index
from mcp_memory.models import Clock, Filters, NoteId, NotePath, NoteState, Passage, PrivateMarks
from mcp_memory.text.markdown import logs
from mcp_memory.vault.draft import past
from mcp_memory.vault.note_file import is_memory
from mcp_memory.vault.succession.entry_marks import admits, entry_record

NEAREST = 12
"""The most passages that a statement is compared with."""
MAX_PASSAGES = 8
"""The most passages of a note; a note with more is a document."""

_HEADING = re.compile(r"(?:[0-9]{1,2}:[0-9]{2}\S*\s*)(?P<title>.*?)(?:\s*\((?:project|tags):.*\))?$")
LONG_AGO = datetime.min.replace(tzinfo=UTC)


class StatedText(NamedTuple):
    """A note, its place, and when it was made; `compatible`: the ids of notes that it doesn't replace. An imported note
    is older and newer than none. `is_judged`: a language model worded it, and decided which older notes it
    replaces."""

    id: NoteId
    path: NotePath
    note: NoteText
    when: datetime | None = None
    compatible: frozenset[str] = frozenset()
    is_foreign: bool = False
    is_judged: bool = False

    def holds_beside(self, other: StatedText) -> bool:
        return other.id in self.compatible or self.id in other.compatible


Contrary = tuple[StatedText, Contradiction]
"""An older statement, and what a newer one changes of it."""


def passages_near(index: Index, terms: Sequence[str], most: int, filters: Filters) -> dict[int, Passage]:
    """Return by chunk id the passages that share the most words with these terms, best first. Raises
    IndexUnavailable."""
    found = index.get(index.lexical(terms, most, filters, by="overlap").ids.tolist())
    return {chunk_id: passage for chunk_id, passage in found.items() if admits(filters, passage)}


class StatedTexts:
    """The statements in the index, for worker threads. Methods raise IndexUnavailable."""

    def __init__(self, index: Index, clock: Clock) -> None:
        self._index = index
        self._clock = clock
        self._known: dict[NotePath, list[StatedText]] = {}
        """What was read since `forget`: near notes are near one another."""

    def forget(self) -> None:
        """Forget what was read, because notes have changed."""
        self._known = {}

    def at(self, path: NotePath) -> list[StatedText]:
        """Return the statements of a note or log; none for a document, or for a retired note."""
        known = self._known  # another thread may replace it
        if path not in known:
            known[path] = self._read(path)
        return known[path]

    def nearest(self, to: NoteText, private: PrivateMarks | None = None, most: int = NEAREST) -> Iterator[StatedText]:
        """Yield the statements in the passages that share the most words with a text."""
        filters = Filters(project=to.project or None, now=self._clock(), private=private)
        found = passages_near(self._index, to.terms, most, filters).values()
        near = [passage for passage in found if not passage.note.path.startswith("@")]
        for path in dict.fromkeys(passage.note.path for passage in near if not passage.note.is_log):
            yield from self.at(path)
        # A day may have thousands of entries, so a log isn't read again for each entry found in it.
        entries = {passage.shown_id: passage for passage in near if passage.note.is_log and passage.chunk.entry}
        yield from filter(None, (_stated(passage.chunk.entry, [passage]) for passage in entries.values()))

    def is_older(self, older: StatedText, newer: StatedText) -> bool:
        """Return whether one statement is older than another of the same project, which may contradict it. If both have
        no date, neither is older."""
        if newer.is_judged or older.is_foreign or newer.is_foreign or older.note.project != newer.note.project:
            return False
        dates = self.date(older), self.date(newer)
        first = min(older, newer, key=lambda one: (self.date(one), not one.id, one.id))
        is_dated = dates != (LONG_AGO, LONG_AGO)
        return first is older and is_dated and older.id != newer.id and not older.holds_beside(newer)

    def date(self, stated: StatedText) -> datetime:
        return past(stated.when, self._clock()) or LONG_AGO

    def _read(self, path: NotePath) -> list[StatedText]:
        note = self._index.note(path)
        if note is None or note.state is not NoteState.ACTIVE or path.startswith("@"):
            return []
        if is_memory(path) or note.always_load:
            return []  # the notes that every session starts with are changed only by name
        passages = self._index.passages(path)
        groups = groupby(passages, lambda passage: passage.chunk.entry) if note.is_log else [(None, passages)]
        return [text for entry, group in groups if (text := _stated(entry, list(group)))]


def _stated(entry: str | None, passages: Sequence[Passage]) -> StatedText | None:
    if not passages or len(passages) > MAX_PASSAGES:
        return None
    first, text = passages[0], "\n\n".join(passage.chunk.text for passage in passages)
    note = first.note
    marks = [str(mark) for mark in note.meta.get("compatible_with", ())]
    if not note.is_log:
        own = NoteText(text, note.title, note.kind, note.project, note.session)
        is_judged = "by" in note.meta
        return StatedText(note.id, note.path, own, note.date, frozenset(marks), note.is_foreign, is_judged)
    if entry is None or entry_record(note, entry).state is not NoteState.ACTIVE:
        return None
    headings = [(head, match["title"]) for head in first.chunk.headings if (match := _HEADING.match(head))]
    heading, title = headings[0] if headings else ("", "")
    own = NoteText(text, title, note.kind, logs.labels([heading]).project)
    clock = time.fromisoformat(first.chunk.time or "00:00")
    when = note.created and note.created.replace(hour=clock.hour, minute=clock.minute)
    beside = frozenset(mark.removeprefix(f"{entry}=") for mark in marks if mark.startswith(f"{entry}="))
    return StatedText(first.shown_id, note.path, own, when, beside)
