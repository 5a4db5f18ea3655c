"""Fuse the rows of several retrievers into one score for each chunk. Pure functions on values.

Each retriever's scores are scaled by its best row, weighted and summed; then the neighbors of a good chunk in its
section gain a little. On the evaluation sets this beats rank fusion (RRF, k = 60) by at least 5 points of evidence.
Scores are comparable within one question only.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_memory.index.base import ScoredRows

Ids = NDArray[np.int64]

LEXICAL, SECTION, DENSE = "lexical", "section", "dense"

_MOST_CEILING = 10.0
"""The highest ceiling, as a multiple of the best row's score, which is tiny in a vault of a few similar notes."""


class FusionWeights(NamedTuple):
    """The weights of the fusion. Points are of evidence within 500 tokens on the development sets; less than 1 point is
    noise."""

    lexical: float = 1.0
    """The weight of BM25 of the chunk and its surroundings; the other weights are relative to it."""
    ceiling: float = 0.3
    """The degree to which keyword scores are scaled by the score of a chunk with all words, instead of the best row's.
    A best row with few of the words then doesn't outweigh the vectors. .1 to .4 differ by less than 1 point; 0 costs 1
    point on questions that need several entries, and 15 on paraphrases."""
    dense: float = 0.9
    """The weight of the cosine. .8 to 1.1 differ by less than 1 point."""
    section: float = 0.2
    """The weight of BM25 of the whole section: +1 to 2 points on documentation, nothing on logs."""
    neighbour: float = 0.15
    """The share of the score of each neighbor in the same section: +3 points on documentation compared with a third of
    it. Across sections it costs 1 to 4 points there."""
    unlisted: float = 0.5
    """The share of the last dense row's score for a chunk that the dense rows don't list although there are more
    vectors. With 0, the 401st chunk would count like an unrelated one. .3 to .9 make no difference."""


@dataclass(frozen=True)
class RetrieverRows:
    """The rows of each retriever; empty for a retriever that was not asked or failed."""

    lexical: ScoredRows = field(default_factory=ScoredRows)
    section: ScoredRows = field(default_factory=ScoredRows)
    dense: ScoredRows = field(default_factory=ScoredRows)
    dense_is_full: bool = False
    """Whether as many rows came back as were requested, so that more may exist."""
    ceiling: float = 0.0
    """The keyword score that a chunk with all words would have."""

    def weighed(self, weights: FusionWeights) -> Iterator[tuple[str, ScoredRows, NDArray[np.float64]]]:
        """Yield each retriever's name and rows, and its part of each row's score."""
        yield LEXICAL, self.lexical, _shares(self.lexical.scores, weights.lexical, self._measure(weights.ceiling))
        yield SECTION, self.section, _shares(self.section.scores, weights.section)
        yield DENSE, self.dense, _shares(self.dense.scores, weights.dense)

    def _measure(self, ceiling: float) -> float:
        """Return the score by which keyword rows are scaled."""
        best = float(self.lexical.scores.max(initial=0.0))
        if not len(self.dense):
            return best
        return (1 - ceiling) * best + ceiling * min(max(best, self.ceiling), _MOST_CEILING * best)


def candidates(retrieved: RetrieverRows) -> NDArray[np.int64]:
    """Return every chunk in the lexical or dense rows, ascending, without repeats.

    Section rows only add to their scores, because they list a chunk for its surroundings. They are used only if both
    others are empty."""
    lexical, dense = retrieved.lexical, retrieved.dense
    listing = (lexical, dense) if len(lexical) or len(dense) else (retrieved.section,)
    return np.unique(np.concatenate([rows.ids for rows in listing]))


def fuse(retrieved: RetrieverRows, weights: FusionWeights, sections: Callable[[Ids], Ids]) -> ScoredRows:
    """Return the fused score of every candidate, by id; the best is about 2. `sections` is `Index.section_numbers`."""
    ids = candidates(retrieved)
    scores = np.zeros(len(ids))
    for name, rows, shares in retrieved.weighed(weights):
        at = np.searchsorted(ids, rows.ids)
        listed = at < len(ids)
        listed[listed] = ids[at[listed]] == rows.ids[listed]
        if name == DENSE and retrieved.dense_is_full and len(shares):
            floor = np.full(len(ids), shares.min() * weights.unlisted)
            floor[at[listed]] = 0.0
            scores += floor
        scores[at[listed]] += shares[listed]
    section = sections(ids)
    # The chunks of one note have consecutive ids; chunks of two notes don't.
    together = (np.diff(ids) == 1) & (section[1:] == section[:-1])
    fused = scores.copy()
    fused[1:] += weights.neighbour * scores[:-1] * together
    fused[:-1] += weights.neighbour * scores[1:] * together
    return ScoredRows(ids, fused.astype(np.float32))


def _shares(scores: NDArray[np.float32], weight: float, most: float | None = None) -> NDArray[np.float64]:
    """Return each row's score divided by `most`, or else by the best score, times the weight. Scores below 0 are
    treated as 0."""
    above = np.maximum(scores, 0.0).astype(np.float64)
    measure = above.max(initial=0.0) if most is None else most
    return weight * above / measure if measure > 0 else above
