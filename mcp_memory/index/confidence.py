"""Confidence: how likely it is that the answer to a question is in memory at all. Pure functions on values.

Three things tell, measured on questions of which the answer is there and questions about somebody else's life: how much
of the question the best passage says, rare words counting more (AUROC .86), how much the first five say together (.88),
and the best cosine (.86). Together .92. A question about a true fact with the wrong person in it is told apart with .63
only: the passage that holds the fact looks like an answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from mcp_memory.models import Passage
from mcp_memory.text.terms import fold, folded

TOGETHER = 5
"""So many of the first passages say together what one alone need not."""


def coverage(
    frequencies: Mapping[str, int], chunks: int, passages: Sequence[Passage], *, with_log_headings: bool = False
) -> float:
    """The share of the question's words that the passages have, 0 to 1, each weighing its inverse document frequency.

    `frequencies`: in how many of all `chunks` each word of the question occurs. The weight is BM25's, so a word that
    occurs nowhere weighs most. Title and headings count too, in a log only where that is wanted.
    """
    said = frozenset[str]().union(
        *(
            folded(f"{'' if each.note.is_log and not with_log_headings else _place(each)} {each.chunk.text}")
            for each in passages
        )
    )
    weights = {word: _idf(count, chunks) for word, count in frequencies.items()}
    whole = sum(weights.values())
    return sum(weight for word, weight in weights.items() if fold(word) in said) / whole if whole else 0.0


def confidence(words: tuple[float, float] | None, cosine: float | None) -> float:
    """The probability that the question can be answered, 0 to 1.

    `words` is the coverage by the best passage (without a log's headings) and by the first `TOGETHER` (with them), or
    None for a question without words; `cosine`, the best of any passage, is None without vectors.

    One logistic model for each set of facts at hand, fitted on three sets of equal weight, half of it on the
    answerable: the development conversations (answerable against absent), the developer's questions (likewise) and
    prompts (memory wanted or not). The cosines are those of all-MiniLM-L6-v2; with another model the order of
    questions stays meaningful, the probability less so.
    """
    if words is not None and cosine is not None:
        logit = -5.07 + 1.34 * words[0] + 2.17 * words[1] + 7.35 * cosine
    elif words is not None:
        logit = -2.19 + 2.80 * words[0] + 2.20 * words[1]
    elif cosine is not None:
        logit = -4.59 + 9.94 * cosine
    else:
        return 0.0
    return 1.0 / (1.0 + math.exp(-logit))


def _place(passage: Passage) -> str:
    return " ".join([passage.note.title, *passage.chunk.headings])


def _idf(count: int, chunks: int) -> float:
    return math.log1p((max(chunks, count) - count + 0.5) / (count + 0.5))
