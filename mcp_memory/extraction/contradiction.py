"""Tells whether two statements say the same, contradict each other, or neither, by words and cosine similarity."""

from __future__ import annotations

from enum import Enum, auto

from mcp_memory.text.language.facts import Fact, FactKind, facts
from mcp_memory.text.language.terms import overlap, telling

SAME_WORDS = 0.8
"""The share of telling words (Jaccard) from which on two statements say the same …"""
SAME_COSINE = 0.9
"""… and the cosine. With MiniLM, of 12 restatements 6 have one or the other, and of 15 statements of one form about two
things none ("staging listens on port 5433", "production …": .67 and .87). What is missed is seen twice by a person who
reviews; what is wrongly taken for known would be lost."""

ONE_SUBJECT_WORDS = 0.4
ONE_SUBJECT_COSINE = 0.75
"""From either on, two statements are about one thing, and contradict each other if they differ in a number or in a no.
("Always use tabs", "Never use tabs": .5 and .81.)"""

_EXACT = frozenset({FactKind.NUMBER, FactKind.DATE, FactKind.IDENTIFIER})


class Relation(Enum):
    SAME = auto()
    CONTRARY = auto()
    OTHER = auto()


def likeness(new: str, known: str, cosine: float = 0.0) -> Relation:
    """Compares two statements of one kind. Negation is understood in English only; elsewhere numbers decide."""
    shared = overlap(telling(new), telling(known))
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


def _denies(facts_of_one: frozenset[Fact], facts_of_other: frozenset[Fact], other: str) -> bool:
    """Whether one rejects what the other affirms: `uv instead of pip`, and `always use pip`."""
    denied = {word for words in _negated(facts_of_one) if len(words) == 1 for word in words}
    denied -= {word for words in _negated(facts_of_other) for word in words}
    return not denied.isdisjoint(telling(other))


def _exact(found: frozenset[Fact], *kinds: FactKind) -> frozenset[Fact]:
    return frozenset(fact for fact in found if fact.kind in (kinds or _EXACT))


def _negated(found: frozenset[Fact]) -> set[tuple[str, ...]]:
    return {tuple(fact.key.split()) for fact in found if fact.kind is FactKind.NEGATION}
