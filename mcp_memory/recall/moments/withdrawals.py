"""Tracks what each session was told, so that it hears, once, what has been forgotten, superseded or changed since.

Covers the running daemon only.
"""

import threading
from collections.abc import Iterable, Iterator

from mcp_memory.index.base import Index
from mcp_memory.models import NoteId, NotePath, NoteState, Passage, PrivateMarks
from mcp_memory.recall.context_budget import BudgetedText, TextFrame, render
from mcp_memory.recall.cross_session_updates import TITLE_CHARS, StoredNote
from mcp_memory.recall.excerpts import excerpt_of
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.escape_invisible import in_line, in_quotes
from mcp_memory.vault.journals.change_journal import ChangeJournal, ChangeKind, NoteChange

MOST_SESSIONS, MOST_NOTES, MOST_LINES, SAYS_CHARS = 100, 100, 3, 160
_ENDED = {ChangeKind.FORGOTTEN, ChangeKind.ARCHIVED, ChangeKind.REMOVED, ChangeKind.SUPERSEDED, ChangeKind.EDITED}


class Withdrawals:
    """Thread-safe. A session is named `client/id`."""

    def __init__(self, index: Index, changes: ChangeJournal, private: PrivateMarks) -> None:
        self._index, self._changes, self._private = index, changes, private
        self._lock = threading.Lock()
        self._told: LruCache[str, dict[NoteId, tuple[int, Passage]]] = LruCache(MOST_SESSIONS)

    def add(self, session: str, passages: Iterable[Passage]) -> None:
        """The session has these in its context now; a summary of it may keep what they say."""
        with self._lock:
            told = self._told.get(session) or self._told.store(session, {})
            found = {passage.shown_id: (self._changes.count, passage) for passage in passages}
            told |= found if len(told) < MOST_NOTES else {}

    def describe(self, session: str) -> str:
        """A line for each note that the session was told and that no longer holds, unless the session itself has
        changed it; empty for none. Each is described once; more than a few are counted."""
        with self._lock:
            told, latest = self._told.get(session) or {}, dict[NoteId, NoteChange]()
            recent = list(self._changes.recent) if told else []
            for number, change in enumerate(recent, self._changes.count - len(recent)):
                is_edit = change.kind is ChangeKind.EDITED and change.entry  # it gives an entry another id
                note = NoteId(f"{change.path}#{change.other}" if is_edit else change.target)
                if change.kind in _ENDED and note in told and number >= told[note][0]:
                    latest[note] = change
            gone = [(told.pop(note)[1], change) for note, change in latest.items()]
        lines = [line for passage, change in gone if (line := self._line(session, passage, change))]
        more = len(lines) - MOST_LINES
        lines[MOST_LINES:] = [f"Withdrawn, too: {more} more; search again."] if more > 0 else []
        return render(TextFrame("memory", None), BudgetedText((), tuple(lines))) if lines else ""

    def _line(self, session: str, passage: Passage, change: NoteChange) -> str:
        if change.client and StoredNote(0, change.client, change.session).is_by(session):
            return ""
        short, kind = in_line(excerpt_of(passage).short_id or passage.note.path), change.kind
        if kind is ChangeKind.SUPERSEDED and (newer := next(self._now(NoteId(change.other or "")), None)):
            return f"Withdrawn: {_name(passage)} was superseded by {_name(newer)}."
        if kind is ChangeKind.EDITED:
            now = list(self._now(NoteId(change.target)))
            if any(passage.chunk.text in one.chunk.text for one in now):
                return ""  # only more was added, or the head was changed
            if now:
                says = in_quotes(" ".join(now[0].chunk.text.split())[:SAYS_CHARS])
                return f"Withdrawn: {_name(passage)} was changed, and now says {says}."
        return f"Withdrawn: {short} was {kind}."  # what was forgotten is not repeated

    def _now(self, note_id: NoteId) -> Iterator[Passage]:
        """The passages of a note or entry that holds and may be told."""
        path, _, entry = note_id.rpartition("#")
        notes = self._index.find_notes("path", path) if entry and path else self._index.note_by_id(note_id)
        for note in notes:
            if note.state is NoteState.ACTIVE and not self._private.cover(note):
                yield from (one for one in self._index.passages(NotePath(note.path)) if one.shown_id == note_id)


def _name(passage: Passage) -> str:
    title = passage.chunk.headings[-1] if passage.chunk.entry and passage.chunk.headings else passage.note.title
    return f"{in_quotes(title[:TITLE_CHARS])} ({in_line(excerpt_of(passage).short_id or passage.note.path)})"
