"""Fits a logistic regression by Newton's method. Pure."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_STEPS = 100
_CLOSE = 1e-6


def fit_logistic(signs: Numbers, outcomes: Numbers, shares: Numbers, precision: float) -> Numbers:
    """Shape (1 + signs,): the doubt, which is subtracted, then a weight for each sign.

    `signs` (n, signs), `outcomes` (n,) 0 or 1, `shares` (n,) the weight of each row; `precision` is that of a normal
    prior on the weights, with mean 0. Newton's method needs only a few steps; the Hessian is never computed, since with
    thousands of signs that takes a minute.
    """
    rows = np.column_stack([-np.ones(len(signs)), signs])
    squares = rows**2
    prior = np.array([0.0, *[precision] * signs.shape[1]])
    found = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        sure = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (shares * (outcomes - sure)) - prior * found
        weight = shares * sure * (1 - sure)

        def bend(step: Numbers, weight: Numbers = weight) -> Numbers:
            return rows.T @ (weight * (rows @ step)) + prior * step

        step = _solved(bend, slope, weight @ squares + prior)
        found += step
        if np.abs(step).max() < _CLOSE:
            break
    return found


def _solved(bend: Callable[[Numbers], Numbers], slope: Numbers, diagonal: Numbers) -> Numbers:
    """The `step` for which `bend(step)` is the slope, by conjugate gradients; more exact near the optimum."""
    step, rest = np.zeros_like(slope), slope
    near = rest / diagonal
    along, size = near, float(rest @ near)
    enough = size * min(0.01, size)
    while size > max(enough, 1e-18):
        bent = bend(along)
        length = size / float(along @ bent)
        step, rest = step + length * along, rest - length * bent
        near = rest / diagonal
        size, before = float(rest @ near), size
        along = near + size / before * along
    return step
