"""Wanting: one direction tells prompts apart, and says no more than it knows."""

from __future__ import annotations

import numpy as np

from mcp_memory.index.logistic import logistic
from mcp_memory.index.wanting import LIMIT, learn


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_what_was_learned_holds_for_others_of_the_kind() -> None:
    random = np.random.default_rng(1)
    wanted = random.random(600) < 0.5
    vectors = random.normal(size=(600, 32))
    vectors[:, 3] += np.where(wanted, 2.0, -2.0)
    found = learn(unit(vectors[:300]), wanted[:300].tolist())
    told = np.array([found.of(vector) > 0 for vector in unit(vectors[300:])])
    assert (told == wanted[300:]).mean() > 0.9


def test_log_odds_stay_within_their_limit() -> None:
    vectors = unit(np.array([[1.0, 0.0], [-1.0, 0.0]] * 2000))
    found = learn(vectors, [True, False] * 2000)
    assert found.of(np.array([100.0, 0.0], dtype=np.float32)) == LIMIT
    assert found.of(np.array([-100.0, 0.0], dtype=np.float32)) == -LIMIT


def test_the_doubt_is_that_of_the_shares() -> None:
    """Without a sign that tells, what is left is how often it is so: the logit of 3 in 4, subtracted."""
    outcomes = np.array([1.0, 1.0, 1.0, 0.0] * 50)
    doubt, weight = logistic(np.zeros((200, 1)), outcomes, np.ones(200), 1.0)
    assert abs(doubt + np.log(3)) < 1e-6 and weight == 0
