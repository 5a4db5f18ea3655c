"""The bootstrap: how far a mean over questions would move with other questions of the same kind.

Efron, "Bootstrap Methods: Another Look at the Jackknife" (1979), percentile intervals. Seeded, so that the same figures
always get the same interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ROUNDS = 2000
SURE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and between what it lies with a probability of `SURE`."""

    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def interval(values: Sequence[float]) -> Interval:
    """Of at least one value, one a question."""
    drawn = np.array(values, dtype=np.float64)
    picks = np.random.default_rng(1).integers(0, len(drawn), (ROUNDS, len(drawn)))
    means = drawn[picks].mean(axis=1)
    low, high = np.quantile(means, [(1 - SURE) / 2, (1 + SURE) / 2])
    return Interval(float(drawn.mean()), float(low), float(high))


def paired(before: Sequence[float], after: Sequence[float]) -> Interval:
    """The difference of two figures of the same questions, in the same order."""
    return interval([new - old for old, new in zip(before, after, strict=True)])
