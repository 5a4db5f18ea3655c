"""Finds the single value in which two sentences of the same form differ."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from mcp_memory.comparison.sentence import ParsedSentence
from mcp_memory.comparison.values import MEASURED, SWITCHES, Token, common_keys

MOST_DROPPED = 3
"""The most words of the older sentence that a newer one without further words leaves out."""
_WORD_TYPES = frozenset({"word", "name"})


class Contradiction(NamedTuple):
    """The old and new values. `before` quotes the older statement, `after` the newer one if it gives a single value,
    else None. `outright`: the newer statement explicitly rejects the older value, or says that it changes."""

    before: str
    after: str | None
    outright: bool = False

    @property
    def why(self) -> str:
        if self.after:
            return f"{self.before} → {self.after}"
        return f'no longer "{self.before}"' if self.outright else f'the opposite of "{self.before}"'


def same_form(old: ParsedSentence, new: ParsedSentence) -> Contradiction | None:
    """Return the difference if the sentences, or their main clauses, differ only in one value or in on and off."""
    if found := switched(old, new):
        return found
    if old.is_event:
        return None
    return _one_differs(old, old.main, new.main) or _one_differs(old, old.tokens, new.tokens) or _restated(old, new)


def _one_differs(old: ParsedSentence, first: Sequence[Token], second: Sequence[Token]) -> Contradiction | None:
    old_words, new_words = word_keys(first), word_keys(second)
    common = common_keys(old_words, new_words)
    if len(common) < 2 or common != old_words or len(new_words) > len(old_words):
        return None
    olds, news = _values_only_in(first, second), _values_only_in(second, first)
    if len(olds) != 1 or len(news) != 1:
        return None
    before, after = olds[0], news[0]
    if before.type != after.type or before.noun != after.noun:
        return None
    if before.type not in MEASURED | {"identifier"} or not old.says(before):
        return None
    return Contradiction(before.text.strip("`"), after.text.strip("`"))


def _restated(old: ParsedSentence, new: ParsedSentence) -> Contradiction | None:
    """Return the two values if the newer sentence adds no word, and each sentence gives the same subject one value:
    `The defence is planned for 20 May`, `The defence is on 12 June`."""
    old_words, new_words = word_keys(old.tokens), word_keys(new.tokens)
    has_one_subject = old.head and new.head and old.head <= new.keys and new.head <= old.keys
    if new.is_event or not has_one_subject or not new_words <= old_words:
        return None
    if len(old_words) - len(new_words) > MOST_DROPPED:
        return None
    olds, news = ([one for one in sentence.stated if one.type in MEASURED | {"date"}] for sentence in (old, new))
    if len(olds) != 1 or len(news) != 1 or olds[0].key == news[0].key:
        return None
    before, after = olds[0], news[0]
    is_one_property = (before.type, before.noun) == (after.type, after.noun)
    is_stated = old.says(before) and new.says(after) and after is new.tokens[-1]
    return Contradiction(before.text, after.text) if is_one_property and is_stated else None


def word_keys(found: Sequence[Token]) -> set[str]:
    return {token.key for token in found if token.type in _WORD_TYPES}


def _values_only_in(found: Sequence[Token], other: Sequence[Token]) -> list[Token]:
    known = {token.key for token in other}
    return [token for token in found if token.type not in _WORD_TYPES and token.key not in known]


def switched(old: ParsedSentence, new: ParsedSentence) -> Contradiction | None:
    """Return the change from `on` to `off`, or back, of a thing that both sentences name in code style."""
    names = {token.key for token in old.tokens if token.type in {"identifier", "name"}}
    if not names or not names <= new.keys:
        return None
    for one, other in SWITCHES:
        form = r"\b(?:is|are|stays?|turned|switched|ist|sind|bleibt)(?: now| again| jetzt| nun| wieder)? {}\b"
        if re.search(form.format(one), old.text) and re.search(form.format(other), new.text):
            return Contradiction(one, other)
    return None
