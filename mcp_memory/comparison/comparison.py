"""Answers whether two texts say the same, state another value of the same thing, or neither. Pure.

A wrong "same" loses a statement, and a wrong "other value" marks a note that is still true: in doubt, it is neither.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product, starmap
from typing import NamedTuple

from mcp_memory.comparison.other_value import NoteText, find_contradiction
from mcp_memory.comparison.same_form import Contradiction
from mcp_memory.comparison.sentence import ParsedSentence, are_apart, differ_within, name_two, parse_statement
from mcp_memory.comparison.values import MEASURED, OPPOSITES, SWITCHES
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.facts import EXACT, Fact, facts
from mcp_memory.text.language.terms import are_two, content_words, jaccard, words

Cosine = Callable[[str, str], float]


class Closeness(NamedTuple):
    """The least closeness of two texts: a share of common content words, or else a cosine."""

    words: float
    cosine: float


SAME = Closeness(words=0.8, cosine=0.9)
"""The closeness of texts that say the same. Lower values would mistake statements of one form about two things for each
other ("staging listens on port 5433", "production …")."""
SIMILAR_WORDS = 0.5
"""The share of common words of texts that are worth showing beside each other. Nearly all pairs of notes with a MiniLM
cosine of .9 or more have it."""
LEAST_WORDS = 3
"""The fewest content words of a text that adds nothing to another text."""

_NAMING = content_words("call called name named heißt heißen genannt appelle appelé llama llaman")
"""Verbs that only link a name with its bearer."""
_NAMES = frozenset(("identifier", "name"))
_STATED = _NAMES | MEASURED | {"date", "month"}
"""The types of values that a newer statement may replace."""
_CONTRARY = [*OPPOSITES, *map(frozenset, SWITCHES)]


@dataclass(frozen=True)
class Comparison:
    """A comparison of a newer text with an older one; each question is only looked into when it is asked. `cosine` is
    the similarity of their embeddings, if known; a function is called only where the words don't decide."""

    older: NoteText
    newer: NoteText
    cosine: float | Cosine = 0.0
    least: Closeness = SAME

    @cached_property
    def other_value(self) -> Contradiction | None:
        """The two values, if the newer text changes or rejects what the older one says."""
        return find_contradiction(self.older, self.newer)

    @property
    def says_the_same(self) -> bool:
        """Return whether the texts are close, have the same facts, and are about one thing."""
        if self.older.text.strip() == self.newer.text.strip():
            return True
        return self._agrees and self._is_close and not self._is_about_another_thing and not self.other_value

    @property
    def has_one_subject(self) -> bool:
        """Return whether the texts are close and about one thing, perhaps with other details or another value."""
        return self._is_close and not any(starmap(name_two, product(*self._sentences)))

    @property
    def is_newer_state(self) -> bool:
        """Return whether the newer text replaces the older one, if they have the same subject. It then has another
        value, or words of change with a new value of the same type."""
        if self.other_value:
            return True
        olds, news = self._sentences
        known = {token.key: token.type for old in olds for token in old.tokens}
        types = _STATED & {*known.values()}
        types = types | _NAMES if types & _NAMES else types
        for new in news:
            signs = new.signs - {"again", *(sign for old in olds for sign in old.signs)}
            has_new_value = any(token.type in types and token.key not in known for token in new.tokens)
            gone = {token.key for one in new.rejections if one.is_change for token in new.between(one.start, one.end)}
            if (signs and has_new_value) or any(
                gone & old.keys and not (denies(old.text) or old.rejects(gone)) for old in olds
            ):
                return True
        return False

    @property
    def adds_nothing(self) -> bool:
        """Return whether the older text has all words of the newer one, the same facts, and no other value."""
        is_contained = self._has_all_words and self._agrees and self._new.negated == self._old.negated
        return is_contained and not self.other_value

    @property
    def shared_words(self) -> float:
        return jaccard(self._old.words, self._new.words)

    @property
    def _sentences(self) -> tuple[Sequence[ParsedSentence], Sequence[ParsedSentence]]:
        return parse_statement(self.older.text, ""), parse_statement(self.newer.text, "")

    @property
    def _is_close(self) -> bool:
        if self.shared_words >= self.least.words or (self._new.exact and self._has_all_words):
            return True
        cosine = self.cosine(self.older.text, self.newer.text) if callable(self.cosine) else self.cosine
        return cosine >= self.least.cosine

    @property
    def _has_all_words(self) -> bool:
        return len(self._new.words) >= LEAST_WORDS and self._new.words <= self._old.words

    @property
    def _agrees(self) -> bool:
        """Return whether the texts have the same numbers, dates and identifiers, and no two names or negations."""
        old, new = self._old, self._new
        if new.exact != old.exact or bool(new.negated) != bool(old.negated):
            return False
        return not are_two(old.names, new.names) and not are_two(old.negated, new.negated)

    @property
    def _is_about_another_thing(self) -> bool:
        """Return whether the texts have contrary words, or a sentence is apart from all sentences of the other text."""
        if any(differ_within(group, self._old.spelled, self._new.spelled) for group in _CONTRARY):
            return True
        olds, news = self._sentences
        return bool(olds) and any(all(are_apart(old, new) for old in olds) for new in news)

    @property
    def _old(self) -> "_Reading":
        return _read(self.older.text)

    @property
    def _new(self) -> "_Reading":
        return _read(self.newer.text)


class _Reading(NamedTuple):
    """A text, read once and compared often. `negated` are the words behind negations, which are found only in
    English; in other languages numbers decide. `spelled` are all words as written, in lower case."""

    words: frozenset[str]
    spelled: frozenset[str]
    exact: frozenset[Fact]
    names: frozenset[str]
    negated: frozenset[str]


@lru_cache(4096)
def _read(text: str) -> _Reading:
    found = facts(text)
    return _Reading(
        content_words(text) - _NAMING,
        frozenset(words(text)),
        frozenset(fact for fact in found if fact.kind in EXACT),
        frozenset(fact.key for fact in found if fact.kind == "name"),
        frozenset(fact.key.split()[0] for fact in found if fact.kind == "negation"),
    )


def say_the_same(older: str, newer: str) -> bool:
    return Comparison(NoteText(older), NoteText(newer)).says_the_same
