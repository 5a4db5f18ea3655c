"""Compares statements by words and cosine similarity: finds equivalent statements, and passages that already contain a
statement.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_memory.text.language.facts import EXACT, Fact, FactKind, facts
from mcp_memory.text.language.terms import content_words, overlap

SAME_WORDS = 0.8
"""The share of content words (Jaccard) above which two statements are equivalent …"""
SAME_COSINE = 0.9
"""… or the cosine from which they do. Lower values would mistake statements of one form about two things for each other
("staging listens on port 5433", "production …"). A missed match only appears twice in review; a false match would lose
a statement."""

LEAST_WORDS = 3
"""The minimum number of words of a statement with a value that is redundant if a note contains all its words."""
_NAMING = content_words("call called name named heißt heißen genannt appelle appelé llama llaman")
"""Verbs that only link a name with its bearer."""

HELD_WORDS = 0.6
"""The share of a statement's content words from which a note contains the statement …"""
HELD_COSINE = 0.85
"""… or the cosine from which it does, if the note also contains all numbers, dates and identifiers. Spellings of names
may differ."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A passage of memory that may contain a statement; `waiting`: it is a candidate that you haven't accepted yet."""

    id: str
    path: str
    text: str
    waiting: bool
    cosine: float = 0.0


def say_the_same(new: str, known: str, cosine: float = 0.0) -> bool:
    """Return whether two statements are equivalent. Negation is only recognized in English; numbers decide in other
    languages."""
    of_new, of_known = facts(new), facts(known)
    words, known_words = content_words(new) - _NAMING, content_words(known) - _NAMING
    adds_nothing = bool(_exact(of_new)) and len(words) >= LEAST_WORDS and words <= known_words
    if not adds_nothing and overlap(words, known_words) < SAME_WORDS and cosine < SAME_COSINE:
        return False
    return _exact(of_new) == _exact(of_known) and _is_negated(of_new) == _is_negated(of_known)


def likeness(new: str, known: str) -> float:
    """Return the share of the shorter statement's words that the longer statement contains, 0 to 1."""
    one, two = content_words(new), content_words(known)
    return len(one & two) / (min(len(one), len(two)) or 1)


def best_holder(text: str, passages: Sequence[Holder]) -> Holder | None:
    """Return the passage that best contains a statement, stored notes before waiting candidates."""
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
