"""Compares statements by words and cosine similarity: which say the same, and which passage holds one already."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_memory.text.language.facts import EXACT, Fact, FactKind, facts
from mcp_memory.text.language.terms import content_words, overlap

SAME_WORDS = 0.8
"""Two statements say the same from this share of content words on (Jaccard) …"""
SAME_COSINE = 0.9
"""… or from this cosine on. With MiniLM, 6 of 12 restatements reach either, and none of 15 pairs in one form about two
things ("staging listens on port 5433", "production …": .67 and .87). You see what is missed twice in review; what is
wrongly taken for known would be lost."""

LEAST_WORDS = 3
"""A statement of so many words, with a value, says nothing new if a note has all of them."""
_NAMING = content_words("call called name named heißt heißen genannt appelle appelé llama llaman")
"""Verbs that only link a name with what bears it."""

HELD_WORDS = 0.6
"""A note holds a statement if it has this share of its content words …"""
HELD_COSINE = 0.85
"""… or this cosine, and all its numbers, dates and identifiers. Names may be written differently."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A passage of memory that may hold a statement; `waiting`: it is a candidate that you haven't accepted yet."""

    id: str
    path: str
    text: str
    waiting: bool
    cosine: float = 0.0


def say_the_same(new: str, known: str, cosine: float = 0.0) -> bool:
    """Compares two statements. Negation is understood in English only; elsewhere numbers decide."""
    of_new, of_known = facts(new), facts(known)
    words, known_words = content_words(new) - _NAMING, content_words(known) - _NAMING
    adds_nothing = bool(_exact(of_new)) and len(words) >= LEAST_WORDS and words <= known_words
    if not adds_nothing and overlap(words, known_words) < SAME_WORDS and cosine < SAME_COSINE:
        return False
    return _exact(of_new) == _exact(of_known) and _is_negated(of_new) == _is_negated(of_known)


def likeness(new: str, known: str) -> float:
    """0 to 1: the share of the shorter statement's words that the other has."""
    one, two = content_words(new), content_words(known)
    return len(one & two) / (min(len(one), len(two)) or 1)


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


def _exact(found: frozenset[Fact]) -> frozenset[Fact]:
    return frozenset(fact for fact in found if fact.kind in EXACT)


def _is_negated(found: frozenset[Fact]) -> bool:
    return any(fact.kind is FactKind.NEGATION for fact in found)
