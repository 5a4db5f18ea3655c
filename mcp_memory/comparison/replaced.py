"""Decides whether the newer of two notes on one topic replaces the older one. Pure.

Looser than a contradiction: the notes share a topic, and a page that doesn't quote the older note still links to it.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from mcp_memory.comparison.other_value import MIN_COVERED, NoteText, find_contradiction
from mcp_memory.comparison.sentence import ParsedSentence, parse_statement
from mcp_memory.comparison.values import (
    CHANGE_VERB,
    MEASURED,
    PAST,
    SCOPE,
    WEAK,
    Rejection,
    Token,
    common_keys,
    tokens,
    words_of_change,
)

_OF_ONE_EVENT = frozenset({"lesson", "fix", "idea", "log", "commitment"})
"""Kinds of notes that neither replace a rule nor are replaced by one."""
_VALUES = MEASURED | {"date", "month"}
MOST_LONGER = 3
"""How many times as many words as the older title a title about the same subject has."""
_WITH_UNIT = MEASURED - {"number", "ordinal", "version"}
_NO_CHANGE = frozenset({"no", "non", "nein"})
"""Words that correct an answer, but not a note: `No hostnames in the first line`."""


class _Note(NamedTuple):
    """A note. `subject` are the words of its title besides values and words of change, `signs` the words of change in
    its title. `now` are its sentences, except those about what was; `values` is what the title and `now` state."""

    title: tuple[Token, ...]
    subject: frozenset[str]
    signs: frozenset[str]
    said: Sequence[ParsedSentence]
    now: Sequence[ParsedSentence]
    values: list[Token]

    @property
    def keys(self) -> frozenset[str]:
        return self.subject | _keys_of(self.said)

    @property
    def all_signs(self) -> frozenset[str]:
        return self.signs.union(*(one.signs for one in self.now)) - _NO_CHANGE


@lru_cache(2048)
def _read(note: NoteText) -> _Note:
    title, found = tokens(note.title), parse_statement(note.text, "")
    now = [one for one in found if not one.is_event and not PAST.search(one.text)]
    naming = [token for token in title if token.type not in _VALUES and not CHANGE_VERB.match(token.text)]
    subject = frozenset(token.key for token in naming if not words_of_change(token.text))
    stated = [*title, *(token for one in now for token in one.stated)]
    values = [token for token in stated if token.type in _VALUES and (token.type != "number" or token.noun)]
    return _Note(title, subject, frozenset(words_of_change(note.title) - _NO_CHANGE), found, now, values)


def is_replaced(older: NoteText, newer: NoteText) -> bool:
    if {older.kind, newer.kind} & _OF_ONE_EVENT:
        return False
    if find_contradiction(older, newer):
        return True
    old, new = _read(older), _read(newer)
    for said in (*new.said, *parse_statement(newer.title, "")):
        if any(_is_gone(old, said.between(one.start, one.end), new, one) for one in said.rejections):
            return True
    return _has_other_value(old, new, newer.title)


def _is_gone(old: _Note, rejected: list[Token], new: _Note, by: Rejection) -> bool:
    """Return whether these words reject the older note's title, one of its names or values, or most words of a
    sentence."""
    gone, values = {token.key for token in rejected}, {token.key for token in rejected if token.type in _VALUES}
    if not gone or not values <= old.keys:
        return False
    if old.subject and old.subject <= gone and len(common_keys(gone, old.keys)) == len(gone):
        return True
    are_names = all(token.type in {"name", "identifier"} for token in rejected)
    is_named = gone <= old.subject and (are_names or 2 * len(gone) >= len(old.subject))
    known = {(value.type, value.key) for value in old.values}
    is_measured = all(token.type in _WITH_UNIT and (token.type, token.key) in known for token in rejected)
    is_value = is_measured or (values and common_keys(old.subject, new.subject))
    most = max((len(common_keys(gone, one.keys | old.subject)) for one in old.said), default=0)
    is_most = most > 1 and most >= MIN_COVERED * len(gone)
    is_repeated = any(
        gone <= one.keys and len(common_keys(one.keys, new.keys)) >= MIN_COVERED * len(one.keys) for one in old.said
    )
    return by.is_change and bool(is_named or is_value or is_most or is_repeated)


def _has_other_value(old: _Note, new: _Note, title: str) -> bool:
    """Return whether the newer note gives the older note's subject other values, or says that it changes."""
    common = common_keys(old.subject, new.subject)
    stated = _keys_of([one for one in new.now if one.signs] or new.now) | {token.key for token in new.title}
    known = {value.key for value in old.values}
    told = {
        token.key
        for one in new.said
        if one not in new.now
        for token in one.tokens
        if token.type in MEASURED - {"number"}
    }
    if (told - stated) & known and new.values and common_keys(old.keys - known, stated):
        return True  # `Wednesday was nonsense. Updates run on Fridays`
    if _is_limited(new, title, common):
        return False
    is_whole = 0 < len(common) == len(old.subject) and MOST_LONGER * len(common) >= len(new.subject)
    is_told = len(old.subject) > 1 and old.subject <= new.keys
    subjects = (old.subject, *(one.head for one in old.now))
    is_part = bool(new.subject) and any(new.subject <= common_keys(new.subject, subject) for subject in subjects)
    if not (is_whole or is_told or is_part):
        return False
    signs, is_same = new.all_signs - old.all_signs, is_whole and len(common) == len(new.subject)
    gone = {(one.type, one.noun, one.unit) for one in old.values if one.key not in stated}
    if gone:
        others = {(one.type, one.noun, one.unit) for one in new.values if one.key not in known}
        return bool(gone & others) and bool(signs or is_same or is_told or (is_whole and len(common) > 1))
    return bool(signs if is_same else new.signs - old.signs - WEAK)


def _is_limited(new: _Note, title: str, subject: Collection[str]) -> bool:
    """Return whether the title names something for which alone it holds: `Backup for photos`."""
    for match in SCOPE.finditer(title):
        after = next((token for token in new.title if token.start >= match.end() and token.type not in _VALUES), None)
        if after and after.key not in subject:
            return True
    return False


def _keys_of(found: Iterable[ParsedSentence]) -> frozenset[str]:
    return frozenset[str]().union(*(one.keys for one in found))
