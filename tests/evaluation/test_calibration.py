"""What is fitted is what the answers were made from."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from mcp_memory.errors import InvalidInput
from mcp_memory.evaluation.calibration import as_toml, calibrate, check
from mcp_memory.evaluation.metrics import RetrievalScore
from mcp_memory.evaluation.sets import EvalQuestion
from mcp_memory.search.confidence import ConfidenceFeatures, confidence
from mcp_memory.search.confidence_config import ConfidenceConfig
from mcp_memory.settings.settings import load

TRUE = ConfidenceConfig(words_and_vectors=(4.0, 1.0, 3.0, 5.0), words=(2.0, 1.5, 3.0), vectors=(3.0, 7.0))


def made(count: int, seed: int, *, against: bool = False) -> list[RetrievalScore]:
    """Questions that can be answered as often as the true model says. `against`: the closest passage misleads."""
    rng = np.random.default_rng(seed)
    answers: list[RetrievalScore] = []
    for at in range(count):
        closest, together, cosine = rng.random(3).tolist()
        sure = confidence(ConfidenceFeatures(1 - closest if against else closest, together, cosine), TRUE)
        question = EvalQuestion(str(at), "?", answerable=bool(rng.random() < sure))
        signs = {"closest": closest, "together": together, "cosine": cosine}
        answers.append(RetrievalScore(question, [], 0.0, 0.0, signs))
    return answers


def balanced(answers: Sequence[RetrievalScore]) -> list[RetrievalScore]:
    """As many of each kind, which moves nothing but the doubt."""
    kinds = [[a for a in answers if a.question.answerable is kind] for kind in (True, False)]
    return [a for kind in kinds for a in kind[: min(map(len, kinds))]]


def test_the_weights_come_back() -> None:
    found = calibrate({"made": balanced(made(20_000, 1))}, ConfidenceConfig(), "m")
    assert np.allclose(found.config.words_and_vectors[1:], TRUE.words_and_vectors[1:], atol=0.4)
    assert found.after["made"] >= found.before["made"] > 0.5


def test_a_sign_that_counts_against_an_answer_gets_no_weight() -> None:
    config = calibrate({"made": balanced(made(5_000, 2, against=True))}, ConfidenceConfig(), "m").config
    assert config.words_and_vectors[1] == 0 == config.words[1]
    assert config.words_and_vectors[2] > 1 and config.vectors[1] > 1


def test_few_answerable_ones_are_called_weak() -> None:
    found = calibrate({"one": balanced(made(3_000, 3)), "two": balanced(made(500, 4))}, ConfidenceConfig(), "m")
    assert all(yes <= 0.055 for yes, _ in found.silenced.values())
    assert max(yes for yes, _ in found.silenced.values()) > 0.03
    assert all(no > yes for yes, no in found.silenced.values())


def test_each_set_counts_the_same() -> None:
    """A large set in which cosines tell nothing does not drown a small one in which they do."""
    blind = [RetrievalScore(a.question, [], 0.0, 0.0, a.signs | {"cosine": 0.5}) for a in balanced(made(20_000, 5))]
    with_small = calibrate({"blind": blind, "small": balanced(made(2_000, 6))}, ConfidenceConfig(), "m")
    assert with_small.config.words_and_vectors[3] > TRUE.words_and_vectors[3] / 2


def test_without_vectors_the_shipped_weights_stay() -> None:
    answers = [
        RetrievalScore(a.question, [], 0.0, 0.0, {k: v for k, v in a.signs.items() if k != "cosine"})
        for a in balanced(made(3_000, 7))
    ]
    config = calibrate({"words": answers}, ConfidenceConfig(), "m").config
    assert config.vectors == ConfidenceConfig().vectors
    assert config.words_and_vectors == ConfidenceConfig().words_and_vectors
    assert config.words != ConfidenceConfig().words


def test_it_takes_some_of_each_kind() -> None:
    answerable = [a for a in made(500, 8) if a.question.answerable]
    with pytest.raises(
        InvalidInput, match=r"one-sided has too few questions: 0 that cannot be answered \(.*\"answerable\": false"
    ):
        calibrate({"one-sided": answerable}, ConfidenceConfig(), "m")
    prompts = [EvalQuestion(str(at), "go on", answerable=at < 3, is_prompt=True) for at in range(9)]
    with pytest.raises(
        InvalidInput, match=r"prompts: 6 that want no memory and 3 that want memory \(.*\"wanted\": false"
    ):
        check("mine", prompts)


def test_what_is_printed_is_a_configuration(tmp_path: Path) -> None:
    config = calibrate({"made": balanced(made(1_000, 9))}, ConfidenceConfig(), "m").config
    text = as_toml(config, ["made"])
    assert set(tomllib.loads(text)["confidence"]) == {
        "model", "weak_below", "words_and_vectors", "words", "vectors", "prompts",
    }  # fmt: skip
    file = tmp_path / "config.toml"
    file.write_text(text)
    assert load({}, file=file).confidence == config
