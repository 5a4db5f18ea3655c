"""Fuses the rows of several retrievers into one score for each chunk. Pure functions on values.

Each leg is scaled by its own best row, weighted and summed; then what stands beside a good chunk in its section gains
a little. On the evaluation sets this beats rank fusion (RRF, k = 60) by 5 points of evidence and more. The scores mean
something within one question only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.index.base import ScoredRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

LEXICAL, SECTION, DENSE = "lexical", "section", "dense"


_MOST_CEILING = 10.0
"""Times the best row's score, which is next to nothing in a vault of a few notes that share their words."""


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """Points are of evidence within 500 tokens on the development sets; below 1 point is noise."""

    lexical: float = 1.0
    """BM25 of the chunk and of its surroundings: the scale of all others."""
    ceiling: float = 0.3
    """How far the keyword leg is measured by the score that a chunk with all words would have, rather than by its best
    row: a best row that has few of the words shall not outweigh the vectors. .1 to .4 differ by less than 1 point; 0
    costs 1 point on questions that need several entries, and 15 on paraphrases."""
    dense: float = 0.9
    """Cosine. .8 to 1.1 differ by less than 1 point."""
    section: float = 0.2
    """BM25 of the whole section: +1 to 2 points on documentation, nothing on logs."""
    neighbour: float = 0.15
    """Share of the score of each neighbour in the same section: +3 points on documentation against a third of it;
    across sections it costs 1 to 4 there."""
    unlisted: float = 0.5
    """A chunk that a full dense leg does not list has a cosine below the leg's last row; it is credited with this
    share of that row's, since 0 would punish the 401st best like a stranger. .3 to .9 are no different."""


@dataclass(frozen=True, slots=True)
class RetrieverRows:
    """The rows of each leg; a leg that was not asked or failed is empty."""

    lexical: ScoredRows = field(default_factory=ScoredRows)
    section: ScoredRows = field(default_factory=ScoredRows)
    dense: ScoredRows = field(default_factory=ScoredRows)
    dense_is_full: bool = False
    """As many rows as were asked for came back, so that further ones exist."""
    ceiling: float = 0.0
    """The score that the keyword leg would give to a chunk with all words."""

    def weighed(self, weights: FusionWeights) -> Iterator[tuple[str, ScoredRows, NDArray[np.float64]]]:
        """Each leg's name and rows, and what it adds to the score of each of them."""
        yield LEXICAL, self.lexical, _shares(self.lexical.scores, weights.lexical, self._measure(weights.ceiling))
        yield SECTION, self.section, _shares(self.section.scores, weights.section)
        yield DENSE, self.dense, _shares(self.dense.scores, weights.dense)

    def _measure(self, ceiling: float) -> float:
        """Of the keyword leg's rows."""
        best = float(self.lexical.scores.max(initial=0.0))
        if not len(self.dense):
            return best  # nothing to be weighed against
        return (1 - ceiling) * best + ceiling * min(max(best, self.ceiling), _MOST_CEILING * best)


def candidates(legs: RetrieverRows) -> NDArray[np.int64]:
    """Every chunk that the keyword or the vector leg lists, ascending, without repeats.

    The section leg only adds to their scores: a chunk is in its list because of what stands around it. It stands in
    for the others when both are empty.
    """
    listing = (legs.lexical, legs.dense) if len(legs.lexical) or len(legs.dense) else (legs.section,)
    return np.unique(np.concatenate([leg.ids for leg in listing]))


def fuse(legs: RetrieverRows, weights: FusionWeights, sections: Callable[[Ids], Ids]) -> ScoredRows:
    """The fused score of every candidate, by id; the best is about 2. `sections` gives each chunk's, as
    `Index.section_numbers`."""
    ids = candidates(legs)
    scores = np.zeros(len(ids))
    for name, rows, shares in legs.weighed(weights):
        at = np.searchsorted(ids, rows.ids)
        listed = at < len(ids)
        listed[listed] = ids[at[listed]] == rows.ids[listed]
        if name == DENSE and legs.dense_is_full and len(shares):
            floor = np.full(len(ids), shares.min() * weights.unlisted)
            floor[at[listed]] = 0.0
            scores += floor
        scores[at[listed]] += shares[listed]
    section = sections(ids)
    # Ids of a note's chunks follow each other, those of two notes do not.
    together = (np.diff(ids) == 1) & (section[1:] == section[:-1])
    fused = scores.copy()
    fused[1:] += weights.neighbour * scores[:-1] * together
    fused[:-1] += weights.neighbour * scores[1:] * together
    return ScoredRows(ids, fused.astype(np.float32))


def _shares(scores: NDArray[np.float32], weight: float, most: float | None = None) -> NDArray[np.float64]:
    """Each row's score against `most`, or else the best one's, times the leg's weight; below 0 counts as 0."""
    above = np.maximum(scores, 0.0).astype(np.float64)
    measure = above.max(initial=0.0) if most is None else most
    return weight * above / measure if measure > 0 else above
