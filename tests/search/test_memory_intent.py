"""Wanting: one direction and the words tell prompts apart, and say no more than they know."""

from __future__ import annotations

import numpy as np

from mcp_memory.search.memory_intent import FIRST, LIMIT, wordings
from tests.benchmarks.logistic_fit import fit_logistic
from tests.benchmarks.train_memory_intent import train_memory_intent


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_what_was_learned_holds_for_others_of_the_kind() -> None:
    random = np.random.default_rng(1)
    wanted = random.random(600) < 0.5
    vectors = random.normal(size=(600, 32))
    vectors[:, 3] += np.where(wanted, 2.0, -2.0)
    found = train_memory_intent([""] * 300, unit(vectors[:300]), wanted[:300].tolist())
    told = np.array([found.log_odds("", vector) > 0 for vector in unit(vectors[300:])])
    assert (told == wanted[300:]).mean() > 0.9


def test_log_odds_stay_within_their_limit() -> None:
    vectors = unit(np.array([[1.0, 0.0], [-1.0, 0.0]] * 2000))
    found = train_memory_intent([""] * 4000, vectors, [True, False] * 2000)
    assert found.log_odds("", np.array([100.0, 0.0], dtype=np.float32)) == LIMIT
    assert found.log_odds("", np.array([-100.0, 0.0], dtype=np.float32)) == -LIMIT


def test_words_tell_where_the_meaning_is_the_same() -> None:
    prompts = ["what did we say about the pump?", "what is a pump?"] * 50
    found = train_memory_intent(prompts, np.ones((100, 4), dtype=np.float32) / 2, [True, False] * 50)
    same = np.ones(4, dtype=np.float32) / 2
    assert found.log_odds("what did we say about the roof?", same) > 1 > -1 > found.log_odds("What is a roof?", same)
    assert abs(found.log_odds("", same)) < 1 and abs(found.log_odds("屋根", same)) < 1  # nothing known, nothing told


def test_a_wording_is_a_word_a_sign_or_two_neighbours() -> None:
    assert wordings("Don't 42!") == {"^", "don't", "#", "!", "$", "^ don't", "don't #", "# !", "! $"}
    assert wordings("") == {"^", "$", "^ $"}
    long = wordings("word " * FIRST + "and behind it " * 10_000)
    assert long == {"^", "word", "^ word", "word word"}


def test_the_doubt_is_that_of_the_shares() -> None:
    """Without a sign that tells, what is left is how often it is so: the logit of 3 in 4, subtracted."""
    outcomes = np.array([1.0, 1.0, 1.0, 0.0] * 50)
    doubt, weight = fit_logistic(np.zeros((200, 1)), outcomes, np.ones(200), 1.0)
    assert abs(doubt + np.log(3)) < 1e-6 and weight == 0


def test_at_the_optimum_nothing_pulls_any_more() -> None:
    """Also where signs are more than rows, and differ in size by a thousand."""
    random = np.random.default_rng(2)
    signs = random.normal(size=(60, 90)) * np.geomspace(0.03, 30, 90)
    outcomes, shares = (random.random(60) < 0.4).astype(float), random.random(60) + 0.5
    doubt, *weights = fit_logistic(signs, outcomes, shares, 2.0).tolist()
    missing = shares * (outcomes - 1 / (1 + np.exp(doubt - signs @ np.array(weights))))
    assert abs(missing.sum()) < 1e-5 and np.abs(signs.T @ missing - 2.0 * np.array(weights)).max() < 1e-4
