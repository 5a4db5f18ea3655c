"""Fits the weights of confidence to the bundled model, on sets of questions and of prompts.

    python -m tests.benchmarks.fit_confidence SETS/locomo tests/eval/developer PROMPTS.jsonl [--write]

Prints how well the old and the new weights tell answerable questions from others; `--write` puts the new ones into the
package. The shipped weights come from development conversations and the developer's questions (answerable against
absent) and, for those of prompts, from five people's prompts (`tests/eval/developer` and, of `tests/eval/strangers`,
all but `ecology`). All sets have the same weight, and in each set the answerable questions have as much as the others.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import numpy as np

from mcp_memory.core.core import EngineConfig
from mcp_memory.search.confidence import (
    ConfidenceFeatures,
    ConfidenceWeights,
    FittedWeights,
    confidence,
    fitted_weights,
)
from tests.benchmarks.logistic_fit import fit_logistic
from tests.benchmarks.site import models
from tests.benchmarks.train_memory_intent import write
from tests.evaluation.metrics import RetrievalScore, auroc
from tests.evaluation.running import Variant, run
from tests.evaluation.sets import read_set

PRIOR = 0.05
"""Precision of a normal prior on the weights, for sets that one feature separates perfectly."""


@dataclass(frozen=True)
class Sample:
    """The features of one question's answer, and its weight in the fit."""

    features: Mapping[str, float]
    is_answerable: bool
    share: float


def fit(sets: Mapping[str, Sequence[RetrievalScore]], now: FittedWeights) -> FittedWeights:
    """Returns `now` with new weights for each set of features that an answer has."""
    samples = _weighted(sets)
    return replace(now, confidence=tuple(_fit(samples, weights) for weights in now.confidence))


def _weighted(sets: Mapping[str, Sequence[RetrievalScore]]) -> list[Sample]:
    """Weighs the answers; the weights sum to their number."""
    count = sum(map(len, sets.values()))
    samples: list[Sample] = []
    for answers in sets.values():
        for kind in (True, False):
            alike = [answer for answer in answers if answer.question.answerable is kind]
            share = count / (2 * len(sets) * max(len(alike), 1))
            samples += [Sample(answer.signs, kind, share) for answer in alike]
    return samples


def _fit(samples: Sequence[Sample], now: ConfidenceWeights) -> ConfidenceWeights:
    """Returns weights, none below 0: a feature that would count against an answer is dropped, and the rest fitted
    again. Returns `now` if no answer has all of its features."""
    used = list(now.features)
    whole = [sample for sample in samples if now.features.keys() <= sample.features.keys()]
    if not whole:
        return now
    outcomes = np.array([sample.is_answerable for sample in whole], dtype=float)
    shares = np.array([sample.share for sample in whole])
    while True:
        rows = np.array([[sample.features[name] for name in used] for sample in whole])
        doubt, *weights = fit_logistic(rows, outcomes, shares, PRIOR).tolist()
        if min(weights, default=0.0) >= 0:
            break
        del used[int(np.argmin(weights))]
    found = dict(zip(used, weights, strict=True))
    return ConfidenceWeights(round(max(0.0, doubt), 2), {name: round(found.get(name, 0.0), 2) for name in now.features})


def separated(answers: Sequence[RetrievalScore], fitted: FittedWeights) -> float:
    """Returns the AUROC of answerable questions against the others."""
    kinds: dict[bool, list[float]] = {True: [], False: []}
    for answer in answers:
        kinds[answer.question.answerable].append(confidence(ConfidenceFeatures(**answer.signs), fitted))
    return auroc(kinds[True], kinds[False]) or 0.0


def main() -> None:
    parser = argparse.ArgumentParser("fit_confidence", description=__doc__)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    sets: dict[str, list[RetrievalScore]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        config = EngineConfig(place, place, models())
        for questions in map(read_set, asked.sets):
            (sets[questions.name],) = anyio.run(run, questions, config, [Variant(explains=True)], place, print)
    before = fitted_weights()
    after = fit(sets, before)
    for name, answers in sets.items():
        print(f"{name}: AUROC {separated(answers, before):.3f}, and {separated(answers, after):.3f} with new weights")
    print(*after.confidence, sep="\n")
    if asked.write:
        write(after)


if __name__ == "__main__":
    main()
