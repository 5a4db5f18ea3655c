"""Finds the later note that may change an earlier one on the same page. Pure.

Words don't say reliably whether a note still holds. A page therefore quotes both notes, and a wrong pair costs little.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import inf, log
from typing import NamedTuple

from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.sentence import parse_statement
from mcp_memory.comparison.values import AMENDED, MEASURED, TENTATIVE, TITLES, common_keys, words_of_change
from mcp_memory.text.language.terms import folded, telling_words

LEAST, LEAST_WITHOUT_SIGN = 0.12, 0.25
"""The likeness from which a later note may change an earlier one: with a sign of change or a value of the same type,
and without."""
MOST_OTHER = 2
"""The most words that differ in notes of one form about two things, such as `Boats at Oslo` and `Boats at Bergen`."""
FEWEST_COMMON, OF_TITLES = 2, 0.05
"""The fewest common words of notes whose titles have none, and the likeness that a common word of the titles adds."""
_OF_ONE_EVENT = frozenset({"lesson", "fix", "idea", "log", "commitment"})
"""Kinds of notes that neither change a rule nor are changed."""
_RULING = frozenset({"decision", "preference", "note"})
"""Kinds of notes that change notes of any other kind."""
CLEAR, CLEAR_WITHOUT_SIGN = 0.2, 0.3
"""The likeness from which a later note clearly changes an earlier one: with a sign of change, and with a value of the
same type. Of 10 such pairs 9 are right, and of the others every second."""
_VALUES = MEASURED | {"date"}


class _Note(NamedTuple):
    """A note. `words` are its words besides signs of change, none for a document. `values` are the types of its values,
    `rejected` the keys of what it turns down."""

    kind: str
    words: frozenset[str]
    title: frozenset[str]
    keys: frozenset[str]
    values: frozenset[str]
    rejected: frozenset[str]
    is_change: bool


class Updates:
    """`notes` are the notes of a page, oldest first, with their `days` (ISO 8601)."""

    def __init__(self, notes: Sequence[NoteText], days: Sequence[str]) -> None:
        self._notes = [_read(note) for note in notes]
        self._days = days
        self._counts = Counter(word for note in self._notes for word in note.words)

    def find(self, at: int) -> int | None:
        """Return the index of the later note that most probably changes the note at an index. Notes of one day belong
        together, unless the later has a sign of change."""
        old = self._notes[at]
        best, found = 0.0, None
        for later in range(at + 1, len(self._notes)):
            alike = self._likeness(old, self._notes[later])
            if alike > best and (self._days[later] > self._days[at] or self._notes[later].is_change):
                best, found = alike, later
        return found

    def is_clear(self, at: int, later: int) -> bool:
        """Return whether the note at an index is clearly changed by the later one that `find` returned."""
        old, new = self._notes[at], self._notes[later]
        is_signed = new.is_change or common_keys(new.rejected, old.keys)
        least = CLEAR if is_signed else CLEAR_WITHOUT_SIGN if old.values & new.values else inf
        return self._likeness(old, new) >= least

    def _likeness(self, old: _Note, new: _Note) -> float:
        """Return the share of the shorter note's rare words in the other; 0 if the newer can't change the older."""
        if {old.kind, new.kind} & _OF_ONE_EVENT or new.kind not in _RULING | {old.kind}:
            return 0.0
        lost, added = (sum(map(str.isalpha, words)) for words in (old.words - new.words, new.words - old.words))
        if 0 < lost <= MOST_OTHER and 0 < added <= MOST_OTHER and not new.is_change:
            return 0.0
        common, is_titled, values = old.words & new.words, bool(old.title & new.title), old.values & new.values
        if len(common) < FEWEST_COMMON and not is_titled:
            return 0.0
        alike = self._rarity(common) / min(self._rarity(old.words), self._rarity(new.words)) + OF_TITLES * is_titled
        is_signed = new.is_change or values & _VALUES or common_keys(new.rejected, old.keys)
        return alike if alike >= (LEAST if is_signed else LEAST_WITHOUT_SIGN) else 0.0

    def _rarity(self, words: Iterable[str]) -> float:
        return sum(log((len(self._notes) + 1) / max(1, self._counts[word])) for word in words)


@lru_cache(2048)
def _read(note: NoteText) -> _Note:
    text = parse_statement(note.text, "")
    said = [*parse_statement(note.title, ""), *text]
    found = [token for one in said for token in one.tokens]
    rejected = set[str]()
    for one in said:
        for part in () if TENTATIVE.search(one.text) else one.rejections:
            rejected |= {token.key for token in one.between(part.start, part.end)}
    whole = f"{note.title}\n{note.text}"
    signs = words_of_change(whole) | {match[0] for match in AMENDED.finditer(whole)}
    words = telling_words(whole) - folded(" ".join(signs)) - TITLES if text else frozenset[str]()
    return _Note(
        note.kind,
        words,
        telling_words(note.title) & words,
        frozenset(token.key for token in found),
        frozenset(token.type for token in found if token.type in _VALUES),
        frozenset(rejected),
        bool(signs),
    )
