"""Fits the confidence weights by logistic regression, on questions known to be answerable or not. Pure.

All sets have the same weight, and in each set the answerable questions have as much as the others.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_memory.search.confidence import SIGNS, ConfidenceFeatures, confidence, weights_for
from mcp_memory.search.confidence_config import ConfidenceConfig

Numbers = NDArray[np.float64]

_PRIOR = 0.05
"""Precision of a normal prior on the weights, for sets that one sign separates perfectly."""


class CalibrationSample(NamedTuple):
    """A question that was asked. A prompt is `answerable` if it wants memory."""

    signs: ConfidenceFeatures
    answerable: bool


def fit_confidence(
    sets: Mapping[str, Sequence[CalibrationSample]], now: ConfidenceConfig, model: str
) -> ConfidenceConfig:
    """`now` with the weights for `model`; weights stay for which the sets lack a sign."""
    rows = _weighted(sets)
    fitted = {name: tuple(_fit(rows, signs, getattr(now, name))) for name, signs in SIGNS.items()}
    return replace(now, model=model, **fitted)


def _weighted(sets: Mapping[str, Sequence[CalibrationSample]]) -> list[tuple[CalibrationSample, float]]:
    """Each sample with its weight; the weights sum to the number of samples."""
    count = sum(map(len, sets.values()))
    weighted: list[tuple[CalibrationSample, float]] = []
    for samples in sets.values():
        for kind in (True, False):
            alike = [sample for sample in samples if sample.answerable is kind]
            weighted += [(sample, count / (2 * len(sets) * len(alike))) for sample in alike]
    return weighted


def _fit(
    rows: Sequence[tuple[CalibrationSample, float]], names: Sequence[str], now: Sequence[float]
) -> Sequence[float]:
    """Doubt and weights, none below 0: a sign that would count against an answer is left out and the rest fitted
    again. `now` if no row has all of these signs."""
    known = [(sample.signs.as_dict, sample.answerable, share) for sample, share in rows]
    whole = [row for row in known if set(names) <= set(row[0])]
    if not whole:
        return now
    signs = np.array([[values[name] for name in names] for values, _, _ in whole])
    wanted, shares = np.array([yes for _, yes, _ in whole], dtype=float), np.array([share for _, _, share in whole])
    used = list(range(len(names)))
    while True:
        doubt, *weights = fit_logistic(signs[:, used], wanted, shares, _PRIOR).tolist()
        if all(weight >= 0 for weight in weights):
            break
        del used[int(np.argmin(weights))]
    by_place = dict(zip(used, weights, strict=True))
    return [round(max(0.0, doubt), 2), *(round(by_place.get(at, 0.0), 2) for at in range(len(names)))]


def pin_threshold(
    config: ConfidenceConfig, samples: Sequence[CalibrationSample], threshold: float, share: float
) -> ConfidenceConfig:
    """Changes the doubt so that this share of what can be answered has a confidence below the threshold."""
    name = weights_for(samples[0].signs)
    answerable = [confidence(sample.signs, config) for sample in samples if sample.answerable]
    bar = float(np.quantile(answerable, share))
    doubt, *weights = getattr(config, name)
    shift = math.log(bar / (1 - bar)) - math.log(threshold / (1 - threshold))
    return replace(config, **{name: (round(doubt + shift, 2), *weights)})


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
