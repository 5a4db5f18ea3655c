"""Logistic regression: the weights of signs, fitted to what is known. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_STEPS = 100
_CLOSE = 1e-9


def logistic(signs: Numbers, outcomes: Numbers, shares: Numbers, precision: float) -> Numbers:
    """Shape (1 + signs,): the doubt, which is subtracted, then a weight for each sign.

    `signs` (n, signs), `outcomes` (n,) 0 or 1, `shares` (n,) how much each row counts; `precision` is that of a normal
    prior on the weights, 0 around. By Newton's method, which for one optimum needs no more than a few steps.
    """
    rows = np.column_stack([-np.ones(len(signs)), signs])
    prior = np.diag([0.0, *[precision] * signs.shape[1]])
    found = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        sure = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (shares * (outcomes - sure)) - prior @ found
        bend = (rows.T * (shares * sure * (1 - sure))) @ rows + prior
        step = np.linalg.solve(bend, slope)
        found += step
        if np.abs(step).max() < _CLOSE:
            break
    return found
