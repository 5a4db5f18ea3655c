"""Compares the statements of a transcript with what memory holds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_memory.extraction.candidate import Candidate
from mcp_memory.text.language.facts import Fact, FactKind, facts
from mcp_memory.text.language.terms import telling

HELD_WORDS = 0.6
"""A note holds a statement that has this share of its telling words in it …"""
HELD_COSINE = 0.85
"""… or means it, and all numbers, dates and identifiers of it. Names may be written otherwise."""

_EXACT = frozenset({FactKind.NUMBER, FactKind.DATE, FactKind.IDENTIFIER})


@dataclass(frozen=True, slots=True)
class CoverageStatus:
    """A passage of memory; `waiting`: it is a candidate that you haven't accepted yet."""

    id: str
    path: str
    text: str
    waiting: bool
    cosine: float = 0.0


@dataclass(frozen=True, slots=True)
class CoveredCandidate:
    """`by` is the passage that holds it, or None if it would be lost."""

    candidate: Candidate
    by: CoverageStatus | None


@dataclass(frozen=True, slots=True)
class Coverage:
    items: tuple[CoveredCandidate, ...]

    @property
    def not_held(self) -> list[Candidate]:
        return [each.candidate for each in self.items if each.by is None]

    @property
    def share_lost(self) -> float:
        """0 to 1; 0 if there was nothing to lose."""
        return len(self.not_held) / len(self.items) if self.items else 0.0


def holder(text: str, found: Sequence[CoverageStatus]) -> CoverageStatus | None:
    """Returns the best passage that holds a statement, stored notes before waiting candidates."""
    said, exact = telling(text), {fact for fact in facts(text) if fact.kind in _EXACT}

    def holds(one: CoverageStatus) -> float:
        share = len(said & telling(one.text)) / len(said) if said else 0.0
        if share < HELD_WORDS and one.cosine < HELD_COSINE:
            return 0.0
        return max(share, one.cosine) if exact <= facts(one.text) or _verbatim(exact, one.text) else 0.0

    ranked = sorted(found, key=lambda one: (one.waiting, -holds(one)))
    return next((one for one in ranked if holds(one)), None)


def _verbatim(exact: set[Fact], text: str) -> bool:
    return all(fact.key in text for fact in exact)
