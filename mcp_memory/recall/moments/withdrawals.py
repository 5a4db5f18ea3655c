"""Track which notes each session has been shown, to show it once which of them have been forgotten, superseded or
changed since. A small file in the state folder has ids, times and hashes of these notes, no text. It isn't synced,
since a power cut ends the sessions too."""

import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple

from mcp_memory.errors import StorageFailed
from mcp_memory.index.base import Index
from mcp_memory.models import Clock, NoteId, NotePath, NoteState, Passage, PrivateMarks
from mcp_memory.recall.context_budget import BudgetedText, TextFrame, render
from mcp_memory.recall.excerpts import shortened
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.escape_invisible import in_line, in_quotes
from mcp_memory.text.language.sentences import beginning
from mcp_memory.text.text_hash import text_hash
from mcp_memory.vault.journals.change_journal import ChangeJournal, NoteChange
from mcp_memory.vault.succession.entry_marks import is_private

MOST_SESSIONS, MOST_NOTES, MOST_LINES, SAYS_CHARS = 100, 100, 3, 160
MOST_BYTES = 200_000
"""The most bytes of each of the two files: some 200 starts, each of ten notes."""

_ENDED = {"forgotten", "archived", "removed", "superseded", "edited"}


class _Told(NamedTuple):
    """A note that was shown. `number`: how many changes this process had made before; None if an earlier process showed
    it. `at`: seconds since the epoch. `chars` and `mark`: length and hash of the text."""

    number: int | None
    at: float
    chars: int
    mark: str

    def is_before(self, change: NoteChange, number: int | None) -> bool:
        """Return whether the note was shown before the change. `number`: the change's number; None if an earlier
        process made the change."""
        if self.number is None:
            return number is not None or change.at >= self.at
        return number is not None and number >= self.number

    def is_in(self, text: str) -> bool:
        """Return whether the text has these words from the beginning of a line."""
        starts = accumulate(map(len, text.splitlines(keepends=True)), initial=0)
        return any(text_hash(text[start : start + self.chars], 16) == self.mark for start in starts)


class Withdrawals:
    """The notes that sessions have been shown. Thread-safe. A session is named `client/id`."""

    def __init__(
        self, index: Index, changes: ChangeJournal, private: PrivateMarks, lines: JsonLines,
        clock: Clock,
    ) -> None:  # fmt: skip
        self._index, self._changes, self._private, self._lines, self._clock = index, changes, private, lines, clock
        self._lock = threading.Lock()
        self._told: LruCache[str, dict[NoteId, _Told]] | None = None
        self._earlier: list[NoteChange] = []

    def add(self, session: str, passages: Iterable[Passage]) -> None:
        """Record that the session has these passages in its context now; a summary of it may keep their content."""
        with self._lock:
            at, texts = self._clock().timestamp(), {one.shown_id: one.chunk.text for one in passages}
            count = self._changes.count
            found = {note: _Told(count, at, len(text), text_hash(text, 16)) for note, text in texts.items()}
            if found and _add(self._known(), session, found):
                self._lines.try_append({"session": session, "told": {note: one[1:] for note, one in found.items()}})

    def describe(self, session: str) -> str:
        """Return a line for each note that the session was shown and that no longer applies, unless the session itself
        changed it; empty for none. Each note is described once; more than a few are counted."""
        with self._lock:
            told, latest = self._known().get(session) or {}, dict[NoteId, NoteChange]()
            recent = self._changes.since(0) if told else []
            numbered = enumerate(recent, self._changes.count - len(recent))
            for number, change in (*((None, change) for change in self._earlier), *numbered):
                note = _note_of(change)
                if change.kind in _ENDED and note in told and told[note].is_before(change, number):
                    latest[note] = change
            gone = [(note, told.pop(note), change) for note, change in latest.items()]
            if gone:
                self._lines.try_append({"session": session, "gone": list(latest)})
        lines = [line for note, was, change in gone if (line := self._line(session, note, was, change))]
        more = len(lines) - MOST_LINES
        lines[MOST_LINES:] = [f"Withdrawn, too: {more} more; search again."] if more > 0 else []
        return render(TextFrame("memory", None), BudgetedText((), tuple(lines))) if lines else ""

    def erase(self, ids: Collection[str], path: str, entry: str | None) -> None:
        """Remove the lines that name one of these notes, or an entry of a file. Raises StorageFailed."""
        gone = {f"{path}#{entry}"} if entry else {*ids, f"path:{path}"}

        def names(note: str) -> bool:
            return note in gone or (not entry and note.startswith(f"{path}#"))

        self._lines.remove(lambda line: any(map(names, (*line.get("told", ()), *line.get("gone", ())))))

    def _known(self) -> LruCache[str, dict[NoteId, _Told]]:
        """Return the notes that each session was shown. The first call also reads the notes that earlier processes
        showed, and the changes since."""
        if self._told is None:
            self._told, notes = LruCache(MOST_SESSIONS), set[NoteId]()
            with suppress(StorageFailed):  # the file starts over
                for line in self._lines.read():
                    found = {NoteId(note): _Told(None, *one) for note, one in line.get("told", {}).items()}
                    _add(self._told, line["session"], found)
                    notes |= found.keys()
                    for note in line.get("gone", ()):
                        (self._told.get(line["session"]) or {}).pop(note, None)
                if notes:
                    changes = self._changes.changes()[self._changes.count :]
                    self._earlier = [one for one in reversed(changes) if one.kind in _ENDED and _note_of(one) in notes]
        return self._told

    def _line(self, session: str, note: NoteId, told: _Told, change: NoteChange) -> str:
        if change.client and _is_by(change, session):
            return ""
        short, kind = in_line(shortened(note) or change.path), change.kind
        if kind == "superseded" and (newer := next(self._now(NoteId(change.other or "")), None)):
            old = next(self._now(note, in_any_state=True), None)
            return f"Withdrawn: {_name(old, short)} was superseded by {_name(newer)}."
        if kind == "edited":
            now = list(self._now(NoteId(change.target)))
            if any(told.is_in(one.chunk.text) for one in now):
                return ""  # only text was added, or the head was changed
            if now:
                says = in_quotes(" ".join(now[0].chunk.text.split())[:SAYS_CHARS])
                return f"Withdrawn: {_name(now[0], short)} was changed, and now says {says}."
        return f"Withdrawn: {short} was {kind}."  # forgotten text is not repeated

    def _now(self, note_id: NoteId, *, in_any_state: bool = False) -> Iterator[Passage]:
        """Yield the passages of a note or entry that may be shown; only an active note, unless `in_any_state`."""
        path, _, entry = note_id.rpartition("#")
        notes = self._index.find_notes("path", path) if entry and path else self._index.note_by_id(note_id)
        for note in notes:
            if in_any_state or note.state is NoteState.ACTIVE:
                passages = (one for one in self._index.passages(NotePath(note.path)) if one.shown_id == note_id)
                yield from (one for one in passages if not is_private(one, self._private))


def _add(known: LruCache[str, dict[NoteId, _Told]], session: str, found: dict[NoteId, _Told]) -> bool:
    """Add the notes; return whether there was room."""
    told = known.get(session) or known.store(session, {})
    has_room = len(told) < MOST_NOTES
    told |= found if has_room else {}
    return has_room


def _note_of(change: NoteChange) -> NoteId:
    """Return the note or entry under the id that was shown; an edit gives an entry another id."""
    is_entry_edit = change.kind == "edited" and change.entry
    return NoteId(f"{change.path}#{change.other}" if is_entry_edit else change.target)


def _name(passage: Passage | None, short: str = "") -> str:
    """Name a note. `short`: the id by which the session knows it, if not its own."""
    if passage is None:
        return short
    title = passage.chunk.headings[-1] if passage.chunk.entry and passage.chunk.headings else passage.note.title
    return f"{in_quotes(beginning(title))} ({short or in_line(shortened(passage.shown_id) or passage.note.path)})"


def _is_by(change: NoteChange, session: str) -> bool:
    """Return whether this session, `client/id`, may have made the change of a client. If the client made it without
    naming a session, it may be this session."""
    if change.session:
        return session == f"{change.client}/{change.session}"
    return session.startswith(f"{change.client}/")
