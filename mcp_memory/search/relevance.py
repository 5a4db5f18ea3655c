"""Estimate for each ranked passage how likely it helps with a prompt. Pure functions on values.

Ranking only orders passages. If only the budget limited them, a prompt that one note answers would get fourteen others,
too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mcp_memory.index.base import ScoredRows
from mcp_memory.search.confidence import USUAL_MEAN, inverse_frequency, place_of
from mcp_memory.search.fusion import RetrieverRows
from mcp_memory.text.language.identifiers import is_word_in, names_known, words_and_parts

if TYPE_CHECKING:
    from mcp_memory.models import NoteId
    from mcp_memory.search.ranking import WeightedRow
    from mcp_memory.search.retrievers import KeywordRows

JUDGED = 20
"""The rank below which passages are treated as irrelevant: 6 % of the notes that help with a prompt are there."""

LAST_RANK = 60
"""The last rank that matters; later ranks, and passages that a retriever doesn't list, are treated alike."""

UNLISTED = -0.5
"""The distance above the mean cosine that is assumed for a passage without a vector, in standard deviations."""

MOST_NAMED = 3
"""The most passages with the identifiers of a prompt; if more have them, the prompt isn't about these."""

USUAL_DEVIATION, USUAL_ROWS = 0.11, 20
"""The usual cosines of the bundled model, counted as this many rows: in a vault of a few notes the vault's own cosines
show little."""


@dataclass(frozen=True, slots=True)
class RelevanceFeatures:
    """The features that indicate whether a passage helps with a prompt."""

    near: float
    """The cosine's distance above the mean of all, in standard deviations, times the score relative to the best."""
    sure: float
    """The confidence of the whole, times that relative score."""
    words: float
    """The sum of the inverse frequencies of the prompt's words that the passage has."""
    title: float
    """The sum of the inverse frequencies of the prompt's words in the title and headings; 0 for a log, whose headings
    are times."""
    dense_rank: float
    """The logarithm of its rank by cosine."""
    keyword_rank: float
    """The logarithm of its rank by keywords."""
    again: float
    """1 for a further passage of a note or of a log entry, else 0."""


class RelevanceWeights(NamedTuple):
    """A logistic model: the doubt, which is subtracted, and the weight of each feature."""

    doubt: float
    features: RelevanceFeatures

    def probability(self, features: RelevanceFeatures) -> float:
        pairs = zip(astuple(self.features), astuple(features), strict=True)
        return 1.0 / (1.0 + math.exp(self.doubt - sum(weight * value for weight, value in pairs)))


WITH_VECTORS = RelevanceWeights(4.16, RelevanceFeatures(0.143, 3.8, 0.064, 0.01, -0.26, -0.223, -0.083))
"""The weights for the bundled model. Fitted on the first 20 passages of the prompts of six people (`developer` and
`strangers` in `tests/eval`) and of seven lived histories. These weigh twice as much, because most prompts belong to a
running session. Trees (boosted and random) and 50 further features, including cosines of single sentences, aren't
better for an excluded person."""

WITH_WORDS = RelevanceWeights(3.0, RelevanceFeatures(0.0, 1.89, 0.155, 0.219, 0.0, -0.82, -1.22))
"""The weights without vectors, and for models whose cosines are of another scale; fitted on the same prompts without
vectors, with a doubt of 3.59. It is less here, so that a passage is skipped below the same features as before
`IRRELEVANT` rose from .04 to .07 with the other weights."""


def relevances(
    best: Sequence[WeightedRow],
    rows: RetrieverRows,
    keywords: KeywordRows,
    *,
    prompt: str,
    confidence: float,
    knows_cosines: bool,
) -> list[float]:
    """Return for each passage the probability that it helps, 1 for those that have the prompt's identifiers.

    `knows_cosines`: the vectors are of the model that the weights were fitted to."""
    judged = best[:JUDGED]
    weights = WITH_VECTORS if knows_cosines and len(rows.dense) else WITH_WORDS
    names = [names_known(prompt, f"{place_of(row.passage)} {row.passage.chunk.text}") for row in judged]
    named = {rank for rank, known in enumerate(names) if known == max(names) > 0}
    exact = named if len(named) <= MOST_NAMED else set[int]()
    found = passage_features(judged, rows, keywords, confidence)
    if weights is WITH_WORDS:  # a retriever by meaning may know a passage in another language
        found = [replace(passage, keyword_rank=min(passage.keyword_rank, passage.dense_rank)) for passage in found]
    probable = [1.0 if rank in exact else weights.probability(features) for rank, features in enumerate(found)]
    return probable + [0.0] * (len(best) - len(judged))


def passage_features(
    judged: Sequence[WeightedRow], rows: RetrieverRows, keywords: KeywordRows, confidence: float
) -> list[RelevanceFeatures]:
    """Return the features of ranked passages, best first."""
    weights = {word: inverse_frequency(count, keywords.chunks) for word, count in keywords.frequencies.items()}
    top = judged[0].score if judged else 0.0
    mean, deviation = _scale(rows.dense)
    shown: set[NoteId] = set()
    found: list[RelevanceFeatures] = []

    def weight_in(known: frozenset[str]) -> float:
        return sum(weight for word, weight in weights.items() if is_word_in(keywords.meant.get(word, word), known))

    for row in judged:
        chunk, note = row.passage.chunk, row.passage.note
        above = words_and_parts(place_of(row.passage))
        relative = max(row.score, 0.0) / top if top > 0 else 0.0
        dense_rank, cosine = _place_in(rows.dense, row.passage.chunk_id)
        keyword_rank, _ = _place_in(rows.lexical, row.passage.chunk_id)
        standing = UNLISTED if cosine is None else (cosine - mean) / deviation
        found.append(
            RelevanceFeatures(
                near=relative * standing,
                sure=relative * confidence,
                words=weight_in(above | words_and_parts(chunk.text)),
                title=0.0 if note.is_log else weight_in(above),
                dense_rank=dense_rank,
                keyword_rank=keyword_rank,
                again=float(row.passage.shown_id in shown),
            )
        )
        shown.add(row.passage.shown_id)
    return found


def _scale(dense: ScoredRows) -> tuple[float, float]:
    """Return the mean and the standard deviation of the cosines."""
    count = len(dense)
    if not count:
        return USUAL_MEAN, USUAL_DEVIATION
    total = count + USUAL_ROWS
    mean = (float(dense.scores.mean()) * count + USUAL_MEAN * USUAL_ROWS) / total
    variance = (float(dense.scores.var()) * count + USUAL_DEVIATION**2 * USUAL_ROWS) / total
    return mean, math.sqrt(variance)


def _place_in(rows: ScoredRows, chunk_id: int) -> tuple[float, float | None]:
    """Return the logarithm of the rank and the score of a chunk; None for a score that the retriever doesn't list."""
    at = np.flatnonzero(rows.ids == chunk_id)
    if not len(at):
        return math.log(LAST_RANK), None
    rank = int(at[0])
    return math.log(min(rank + 1, LAST_RANK)), float(rows.scores[rank])
