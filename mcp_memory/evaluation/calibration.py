"""Calibration: the weights of `[confidence]`, fitted to questions of which it is known whether they can be answered.

Pure. Each set counts the same, and in each set what can be answered as much as what cannot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mcp_memory.engine.config import PhaseConfig
from mcp_memory.errors import InvalidInput
from mcp_memory.evaluation.metrics import Answer, auroc, share_below
from mcp_memory.index.confidence import Signs, confidence
from mcp_memory.index.confidence_config import ConfidenceConfig
from mcp_memory.index.logistic import logistic

FEWEST = 20
"""Of each kind in a set: fewer say more about themselves than about the model."""

SILENCED = 0.05
"""The share of what can be answered, in the set that loses most, that `weak_below` calls weak; of prompts that want
memory, the share that gets no answer."""

_PRIOR = 0.05
"""Precision of a normal prior on the weights, against sets that a sign tells apart without fail."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The fitted configuration; what the old and the new one make of each set, by the set's name."""

    config: ConfidenceConfig
    before: Mapping[str, float]
    """AUROC."""
    after: Mapping[str, float]
    silent_below: float | None
    """What `recall.phases.prompt.least_confidence` should be; None without a set of prompts."""
    silenced: Mapping[str, tuple[float, float]]
    """Of what can be answered and of what cannot, the shares below the new `weak_below` or `silent_below`."""


def calibrate(sets: Mapping[str, Sequence[Answer]], now: ConfidenceConfig, model: str) -> Calibration:
    """`model` is the name of the one that made the vectors. Raises InvalidInput for a set that has too few questions of
    one kind."""
    for name, answers in sets.items():
        fewest = min(sum(a.question.answerable is kind for a in answers) for kind in (True, False))
        if fewest < FEWEST:
            raise InvalidInput(
                f"{name} has {fewest} questions of one kind",
                hint=f"it takes {FEWEST} that can be answered and {FEWEST} that cannot",
            )
    rows = [(Signs(**answer.signs), answer.question.answerable, share) for answer, share in _weighted(sets)]
    doubt, closest, together, cosine = _fit(rows, ("closest", "together", "cosine"), now.words_and_vectors)
    without = _fit(rows, ("closest", "together"), now.words)
    alone = _fit(rows, ("cosine",), now.vectors)
    prompts = _fit(rows, ("closest", "together", "cosine", "wanting"), now.prompts)
    fitted = ConfidenceConfig(
        model=model,
        weak_below=now.weak_below,
        words_and_vectors=(doubt, closest, together, cosine),
        words=(without[0], without[1], without[2]),
        vectors=(alone[0], alone[1]),
        prompts=(prompts[0], prompts[1], prompts[2], prompts[3], prompts[4]),
    )
    sure = {name: _split(answers, fitted) for name, answers in sets.items()}
    of_prompts = {name for name, answers in sets.items() if any("wanting" in answer.signs for answer in answers)}
    weak = _bar([yes for name, (yes, _) in sure.items() if name not in of_prompts])
    silent = _bar([yes for name, (yes, _) in sure.items() if name in of_prompts])
    config = fitted if weak is None else replace(fitted, weak_below=weak)
    bars = {name: (silent if name in of_prompts else weak) or 0.0 for name in sets}
    old = {name: _split(answers, now) for name, answers in sets.items()}
    return Calibration(
        config,
        {name: auroc(*kinds) or 0.0 for name, kinds in old.items()},
        {name: auroc(*kinds) or 0.0 for name, kinds in sure.items()},
        silent,
        {name: (share_below(yes, bars[name]), share_below(no, bars[name])) for name, (yes, no) in sure.items()},
    )


def as_toml(config: ConfidenceConfig, sets: Sequence[str], prompt: PhaseConfig | None = None) -> str:
    """The section, ready for a configuration file; and that of the phase `prompt`, if its threshold is another now."""
    lists = "\n".join(
        f"{name} = [{', '.join(f'{value:g}' for value in getattr(config, name))}]"
        for name in ("words_and_vectors", "words", "vectors", "prompts")
    )
    fitted = f"# fitted by `mcp-memory calibrate` to {', '.join(sets)}"
    model = json.dumps(config.model, ensure_ascii=False)  # which is a TOML string too
    told = f"{fitted}\n[confidence]\nmodel = {model}\nweak_below = {config.weak_below:g}\n{lists}\n"
    if prompt is None:
        return told
    kinds = f"kinds = {json.dumps(prompt.kinds)}\n" if prompt.kinds else ""
    bar = f"least_confidence = {prompt.least_confidence:g}\n"
    return f"{told}\n[recall.phases.prompt]\nbudget_tokens = {prompt.budget_tokens}\n{kinds}{bar}"


def _bar(answerable: Sequence[Sequence[float]]) -> float | None:
    """The confidence that `SILENCED` of what can be answered stays below, in the set that loses most."""
    return min((round(float(np.quantile(each, SILENCED)), 3) for each in answerable), default=None)


def _weighted(sets: Mapping[str, Sequence[Answer]]) -> list[tuple[Answer, float]]:
    """Each answer with its weight; they sum to the number of answers."""
    count = sum(len(answers) for answers in sets.values())
    weighted: list[tuple[Answer, float]] = []
    for answers in sets.values():
        for kind in (True, False):
            alike = [answer for answer in answers if answer.question.answerable is kind]
            weighted += [(answer, count / (2 * len(sets) * len(alike))) for answer in alike]
    return weighted


def _split(answers: Sequence[Answer], config: ConfidenceConfig) -> tuple[list[float], list[float]]:
    """The confidences of what can be answered, and of what cannot."""
    sure = [(confidence(Signs(**answer.signs), config), answer.question.answerable) for answer in answers]
    return [each for each, yes in sure if yes], [each for each, yes in sure if not yes]


def _fit(rows: Sequence[tuple[Signs, bool, float]], names: Sequence[str], now: Sequence[float]) -> Sequence[float]:
    """Doubt and weights, none below 0: a sign that would count against an answer is left out and the rest fitted
    again. Those of `now` where the rows have not all of these signs."""
    whole = [(signs.known, yes, share) for signs, yes, share in rows if set(names) <= set(signs.known)]
    if not whole:
        return now
    signs = np.array([[known[name] for name in names] for known, _, _ in whole])
    wanted, shares = np.array([yes for _, yes, _ in whole], dtype=float), np.array([share for _, _, share in whole])
    used = list(range(len(names)))
    while True:
        doubt, *weights = logistic(signs[:, used], wanted, shares, _PRIOR).tolist()
        if all(weight >= 0 for weight in weights):
            break
        del used[int(np.argmin(weights))]
    by_place = dict(zip(used, weights, strict=True))
    return [round(max(0.0, doubt), 2), *(round(by_place.get(at, 0.0), 2) for at in range(len(names)))]
