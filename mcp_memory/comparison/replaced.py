"""Decides whether the newer of two notes on one topic replaces the older one. Pure.

Looser than a contradiction: the notes share a topic, and a page that doesn't quote the older note still links to it.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from mcp_memory.comparison.other_value import MIN_COVERED, TELLING_CHARS, NoteText, find_contradiction
from mcp_memory.comparison.sentence import ParsedSentence, parse_statement
from mcp_memory.comparison.values import (
    ADDED,
    AMENDED,
    CHANGE_VERB,
    MEASURED,
    PAST,
    SCOPE,
    SETS,
    TENTATIVE,
    WEAK,
    Rejection,
    Token,
    common_keys,
    tokens,
    words_of_change,
)

_OF_ONE_EVENT = frozenset({"lesson", "fix", "idea", "log", "commitment"})
"""Kinds of notes that neither replace a rule nor are replaced by one."""
_VALUES = MEASURED | {"date"}
_WITH_UNIT = MEASURED - {"number", "ordinal", "version"}
_MOST_WORDS = 16
"""The most words of a brief note: of such a note, one common word identifies the subject."""
_MANY = 3
"""The number of common words from which a sign of change is enough."""
_NO_CHANGE = frozenset({"no", "non", "nein", "switch", "switching", "changing"})
"""Words that correct an answer or name an action, but change no note: `No hostnames in the first line`."""


class _Note(NamedTuple):
    """A note. `sentences` include the title, `said` doesn't. `subject` are the words of the title besides values and
    words of change, `words` all words. `signs` are the words of change, except in `told`, the sentences about what was;
    `amends` are the words that say that a rule isn't as before."""

    sentences: Sequence[ParsedSentence]
    said: Sequence[ParsedSentence]
    subject: frozenset[str]
    words: frozenset[str]
    told: frozenset[str]
    signs: frozenset[str]
    amends: frozenset[str]
    values: Sequence[Token]
    keys: frozenset[str]
    is_brief: bool


@lru_cache(2048)
def _read(note: NoteText) -> _Note:
    title, said = parse_statement(note.title, ""), parse_statement(note.text, "")
    sentences = [*title, *said]
    found = [token for one in sentences for token in one.tokens]
    words = frozenset(token.key for token in found if token.type in {"word", "name", "identifier"})
    naming = [token for token in tokens(note.title) if token.type not in _VALUES and not CHANGE_VERB.match(token.text)]
    told = [one for one in sentences if PAST.search(one.text)]
    titled = words_of_change(note.title) - _NO_CHANGE
    signs = titled.union(*(one.signs for one in said if one not in told and not one.is_event)) - _NO_CHANGE
    whole = f"{note.title}\n{note.text}"
    amends = {match[0].lower() for pattern in (AMENDED, SETS) for match in pattern.finditer(whole)}
    return _Note(
        sentences,
        said,
        frozenset(token.key for token in naming if not words_of_change(token.text)),
        words,
        _keys_of(told),
        frozenset(signs),
        frozenset(amends | (titled - WEAK)),
        [token for token in found if token.type in _VALUES],
        _keys_of(sentences),
        len(words) <= _MOST_WORDS,
    )


def is_replaced(older: NoteText, newer: NoteText) -> bool:
    if {older.kind, newer.kind} & _OF_ONE_EVENT:
        return False
    if find_contradiction(older, newer):
        return True
    old, new = _read(older), _read(newer)
    for said in new.sentences:
        rejected = () if TENTATIVE.search(said.text) else said.rejections
        if any(_is_gone(old, said.between(one.start, one.end), new, one) for one in rejected):
            return True
    return _is_amended(old, new, newer.title)


def _is_gone(old: _Note, rejected: list[Token], new: _Note, by: Rejection) -> bool:
    """Return whether these words reject the title of the older note, a value, or another thing that it names."""
    gone = {token.key for token in rejected}
    known = len(common_keys(gone, old.keys))
    if not known:
        return False
    if old.subject and old.subject <= gone and known == len(gone):
        return True
    is_named = gone <= old.subject and 2 * len(gone) >= len(old.subject)
    stated = {(value.type, value.key) for value in old.values}
    is_value = all(token.type in _WITH_UNIT and (token.type, token.key) in stated for token in rejected)
    is_said = (
        known >= MIN_COVERED * len(gone) and old.is_brief and new.is_brief and common_keys(old.words - gone, new.words)
    )
    return by.is_change and bool(is_named or is_value or is_said)


def _is_amended(old: _Note, new: _Note, title: str) -> bool:
    """Return whether a brief note takes up the subject of another, and gives it other values or says it changes."""
    common = common_keys(old.words, new.words)
    if not (common and old.is_brief and new.is_brief):
        return False
    telling = [one for one in old.values if one.type != "number" or one.noun or len(one.key) >= TELLING_CHARS]
    known, kept = {(*_kind(one), one.key) for one in old.values}, {one.key for one in new.values}
    others = {_kind(one) for one in new.values if (*_kind(one), one.key) not in known}
    # `60 was too strict, stop at 70` needs no other sign.
    if any({one.key, one.key.split()[0]} & kept and (_kind(one) in others or one.key in new.told) for one in telling):
        return True
    amends, signs = new.amends - old.amends, new.signs - old.signs
    if len(common) >= _MANY and (amends or common & new.told or (signs and not ADDED.search(title))):
        return True
    subject = common_keys(old.subject, new.subject)
    is_whole = 0 < len(subject) == len(old.subject)
    is_same = is_whole and len(subject) == len(new.subject)
    subjects = (old.subject, *(one.head for one in old.said if len(one.head) <= _MANY))
    is_part = any(0 < len(new.subject) == len(common_keys(new.subject, one)) for one in subjects)
    if {_kind(one) for one in telling if one.key not in kept} & others and not _is_limited(title, subject):
        is_told = len(old.subject) > 1 and old.subject <= new.keys
        is_changed = (amends and common_keys(old.subject, new.words)) or (signs and (subject or is_part))
        return bool(is_same or is_told or is_changed)
    return bool((amends and (is_part or (is_whole and len(subject) > 1))) or (is_same and signs))


def _is_limited(title: str, subject: Collection[str]) -> bool:
    """Return whether the title names something for which alone it holds: `Backup for photos`."""
    ends = {match.end() for match in SCOPE.finditer(title)}
    after = (token for token in tokens(title) if token.start in ends and token.type not in _VALUES)
    return any(token.key not in subject for token in after)


def _kind(value: Token) -> tuple[str, str]:
    return value.type, value.noun or value.unit


def _keys_of(found: Iterable[ParsedSentence]) -> frozenset[str]:
    return frozenset[str]().union(*(one.keys for one in found))
