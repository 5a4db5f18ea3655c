"""Compares statements by words and cosine similarity: which say the same, which contradict each other, and which
passage already holds a statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from mcp_memory.text.language.facts import Fact, FactKind, facts
from mcp_memory.text.language.terms import content_words, overlap

SAME_WORDS = 0.8
"""Two statements say the same from this share of content words on (Jaccard) …"""
SAME_COSINE = 0.9
"""… or from this cosine on. With MiniLM, 6 of 12 restatements reach either, and none of 15 pairs in one form about two
things ("staging listens on port 5433", "production …": .67 and .87). You see what is missed twice in review; what is
wrongly taken for known would be lost."""

ONE_SUBJECT_WORDS = 0.4
ONE_SUBJECT_COSINE = 0.75
"""From either on, two statements are about one thing, and contradict each other if a number or a negation differs.
("Always use tabs", "Never use tabs": .5 and .81.)"""

HELD_WORDS = 0.6
"""A note holds a statement if it has this share of its content words …"""
HELD_COSINE = 0.85
"""… or this cosine, and all its numbers, dates and identifiers. Names may be written differently."""

_EXACT = frozenset({FactKind.NUMBER, FactKind.DATE, FactKind.IDENTIFIER})


class Relation(Enum):
    SAME = auto()
    CONTRARY = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Holder:
    """A passage of memory that may hold a statement; `waiting`: it is a candidate that you haven't accepted yet."""

    id: str
    path: str
    text: str
    waiting: bool
    cosine: float = 0.0


def relation(new: str, known: str, cosine: float = 0.0) -> Relation:
    """Compares two statements of one kind. Negation is understood in English only; elsewhere numbers decide."""
    shared = overlap(content_words(new), content_words(known))
    of_new, of_known = facts(new), facts(known)
    exact = _exact(of_new) == _exact(of_known)
    polarity = bool(_negated(of_new)) == bool(_negated(of_known))
    if (shared >= SAME_WORDS or cosine >= SAME_COSINE) and exact and polarity:
        return Relation.SAME
    if _denies(of_new, of_known, known) or _denies(of_known, of_new, new):
        return Relation.CONTRARY
    if shared >= ONE_SUBJECT_WORDS or cosine >= ONE_SUBJECT_COSINE:
        numbers = _exact(of_new, FactKind.NUMBER), _exact(of_known, FactKind.NUMBER)
        if not polarity or (all(numbers) and numbers[0] != numbers[1]):
            return Relation.CONTRARY
    return Relation.OTHER


def best_holder(text: str, passages: Sequence[Holder]) -> Holder | None:
    """Returns the best passage that holds a statement, stored notes before waiting candidates."""
    words, exact = content_words(text), _exact(facts(text))

    def holds(passage: Holder) -> float:
        share = len(words & content_words(passage.text)) / len(words) if words else 0.0
        if share < HELD_WORDS and passage.cosine < HELD_COSINE:
            return 0.0
        has_all = exact <= facts(passage.text) or all(fact.key in passage.text for fact in exact)
        return max(share, passage.cosine) if has_all else 0.0

    ranked = sorted(passages, key=lambda passage: (passage.waiting, -holds(passage)))
    return next((passage for passage in ranked if holds(passage)), None)


def _denies(facts_of_one: frozenset[Fact], facts_of_other: frozenset[Fact], other: str) -> bool:
    """Whether one rejects what the other affirms: `uv instead of pip`, and `always use pip`."""
    denied = {word for words in _negated(facts_of_one) if len(words) == 1 for word in words}
    denied -= {word for words in _negated(facts_of_other) for word in words}
    return not denied.isdisjoint(content_words(other))


def _exact(found: frozenset[Fact], *kinds: FactKind) -> frozenset[Fact]:
    return frozenset(fact for fact in found if fact.kind in (kinds or _EXACT))


def _negated(found: frozenset[Fact]) -> set[tuple[str, ...]]:
    return {tuple(fact.key.split()) for fact in found if fact.kind is FactKind.NEGATION}
