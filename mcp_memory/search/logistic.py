"""Logistic regression: the weights of signs, fitted to what is known. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_STEPS = 100
_CLOSE = 1e-6


def logistic(signs: Numbers, outcomes: Numbers, shares: Numbers, precision: float) -> Numbers:
    """Shape (1 + signs,): the doubt, which is subtracted, then a weight for each sign.

    `signs` (n, signs), `outcomes` (n,) 0 or 1, `shares` (n,) how much each row counts; `precision` is that of a normal
    prior on the weights, 0 around. By Newton's method, which for one optimum needs no more than a few steps; the
    matrix of second derivatives is never made, since with thousands of signs that takes a minute.
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
    """`step` for which `bend(step)` is the slope, by conjugate gradients; the nearer the optimum the more exact."""
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
