"""Fits the weights of `[confidence]` to questions known to be answerable or not. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mcp_memory.errors import InvalidInput
from mcp_memory.evaluation.metrics import RetrievalScore, auroc, share_below
from mcp_memory.evaluation.sets import EvalQuestion
from mcp_memory.recall.config import PhaseConfig
from mcp_memory.search.calibration_fit import CalibrationSample, fit_confidence
from mcp_memory.search.confidence import ConfidenceFeatures, confidence
from mcp_memory.search.confidence_config import ConfidenceConfig

FEWEST = 20
"""Questions of each kind that a set needs, so that the fit generalizes."""

SILENCED = 0.05
"""The share of answerable questions, in the set that loses most, that `weak_below` calls weak; of prompts that need
memory, the share that gets no answer."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The fitted configuration, and figures by the set's name. `before` and `after`: AUROC with the old and new one."""

    config: ConfidenceConfig
    before: Mapping[str, float]
    after: Mapping[str, float]
    silent_below: float | None
    """A value for `recall.phases.prompt.least_confidence`; None without a set of prompts."""
    silenced: Mapping[str, tuple[float, float]]
    """The shares of answerable and of unanswerable questions below the new `weak_below` or `silent_below`."""


def calibrate(sets: Mapping[str, Sequence[RetrievalScore]], now: ConfidenceConfig, model: str) -> Calibration:
    """`model` is the name of the embedding model. Raises InvalidInput for a set with too few questions of one kind."""
    for name, answers in sets.items():
        check(name, [answer.question for answer in answers])
    tried = {
        name: [CalibrationSample(ConfidenceFeatures(**answer.signs), answer.question.answerable) for answer in answers]
        for name, answers in sets.items()
    }
    found = fit_confidence(tried, now, model)
    sure = {name: _split(answers, found) for name, answers in sets.items()}
    of_prompts = {name for name, answers in sets.items() if any("wanting" in answer.signs for answer in answers)}
    weak = _bar([yes for name, (yes, _) in sure.items() if name not in of_prompts])
    silent = _bar([yes for name, (yes, _) in sure.items() if name in of_prompts])
    config = found if weak is None else replace(found, weak_below=weak)
    bars = {name: (silent if name in of_prompts else weak) or 0.0 for name in sets}
    old = {name: _split(answers, now) for name, answers in sets.items()}
    return Calibration(
        config,
        {name: auroc(*kinds) or 0.0 for name, kinds in old.items()},
        {name: auroc(*kinds) or 0.0 for name, kinds in sure.items()},
        silent,
        {name: (share_below(yes, bars[name]), share_below(no, bars[name])) for name, (yes, no) in sure.items()},
    )


def check(name: str, questions: Sequence[EvalQuestion]) -> None:
    """Raises InvalidInput for a set with too few questions of one kind."""
    noun, words, mark = "questions", ("that cannot be answered", "that can be answered"), '"answerable": false'
    if any(question.is_prompt for question in questions):
        noun, words, mark = "prompts", ("that want no memory", "that want memory"), '"wanted": false'
    counts = [sum(question.answerable is kind for question in questions) for kind in (False, True)]
    if few := [f"{count} {kind}" for count, kind in zip(counts, words, strict=True) if count < FEWEST]:
        raise InvalidInput(
            f"{name} has too few {noun}: {' and '.join(few)}",
            hint=f"a set needs at least {FEWEST} {noun} {words[True]}, and {FEWEST} {words[False]}, marked {mark}",
        )


def as_toml(config: ConfidenceConfig, sets: Sequence[str], prompt: PhaseConfig | None = None) -> str:
    """Returns the section for a configuration file, and that of the phase `prompt` if its threshold changes."""
    lists = "\n".join(
        f"{name} = [{', '.join(f'{value:g}' for value in getattr(config, name))}]"
        for name in ("words_and_vectors", "words", "vectors", "prompts")
    )
    fitted = f"# fitted by `mcp-memory calibrate` to {', '.join(sets)}"
    model = json.dumps(config.model, ensure_ascii=False)  # a TOML string, too
    section = f"{fitted}\n[confidence]\nmodel = {model}\nweak_below = {config.weak_below:g}\n{lists}\n"
    if prompt is None:
        return section
    kinds = f"kinds = {json.dumps(prompt.kinds)}\n" if prompt.kinds else ""
    bar = f"least_confidence = {prompt.least_confidence:g}\nleast_relevance = {prompt.least_relevance:g}\n"
    bar += f"least_share = {prompt.least_share:g}\n"
    return f"{section}\n[recall.phases.prompt]\nbudget_tokens = {prompt.budget_tokens}\n{kinds}{bar}"


def _bar(answerable: Sequence[Sequence[float]]) -> float | None:
    """Returns the confidence below which `SILENCED` of the answerable questions are, in the set that loses most."""
    return min((round(float(np.quantile(values, SILENCED)), 3) for values in answerable), default=None)


def _split(answers: Sequence[RetrievalScore], config: ConfidenceConfig) -> tuple[list[float], list[float]]:
    """Returns the confidences of answerable and of unanswerable questions."""
    sure = [(confidence(ConfidenceFeatures(**answer.signs), config), answer.question.answerable) for answer in answers]
    return [value for value, yes in sure if yes], [value for value, yes in sure if not yes]
