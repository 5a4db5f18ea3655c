"""Confidence: how likely it is that the answer to a question is in memory at all. Pure functions on values.

Two things tell, measured on questions of which the answer is there and questions about somebody else's life: how
much of the question the best passage says, rare words counting more (AUROC .86), and the best cosine (.78).
Together .89. A question about a true fact with the wrong person in it is told apart with .66 only: the passage that
holds the fact looks like an answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from mcp_memory.models import Passage
from mcp_memory.text.terms import fold, folded


def coverage(frequencies: Mapping[str, int], chunks: int, passage: Passage) -> float:
    """The share of the question's words that the passage has, 0 to 1, each weighing its inverse document frequency.

    `frequencies`: in how many of all `chunks` each word of the question occurs. The weight is BM25's, so a word that
    occurs nowhere weighs most. In a log the entry's text alone counts, elsewhere title and headings too.
    """
    chunk, note = passage.chunk, passage.note
    place = "" if note.is_log else " ".join([note.title, *chunk.headings])
    said = folded(f"{place} {chunk.text}")
    weights = {word: _idf(count, chunks) for word, count in frequencies.items()}
    whole = sum(weights.values())
    return sum(weight for word, weight in weights.items() if fold(word) in said) / whole if whole else 0.0


def confidence(coverage: float | None, cosine: float | None) -> float:
    """The probability that the question can be answered, 0 to 1.

    Logistic models fitted on the development conversations, answerable against absent, one for each set of facts
    at hand: `coverage` is None for a question without words, `cosine` (the best of any passage) without vectors.
    The cosines are those of all-MiniLM-L6-v2; with another model the order of questions stays meaningful, the
    probability less so.
    """
    if coverage is not None and cosine is not None:
        logit = -5.94 + 5.99 * coverage + 10.18 * cosine
    elif coverage is not None:
        logit = -0.41 + 6.67 * coverage
    elif cosine is not None:
        logit = -3.0 + 10.0 * cosine
    else:
        return 0.0
    return 1.0 / (1.0 + math.exp(-logit))


def _idf(count: int, chunks: int) -> float:
    return math.log1p((max(chunks, count) - count + 0.5) / (count + 0.5))
