"""Wanting: one direction and the words tell prompts apart, and say no more than they know."""

from __future__ import annotations

import numpy as np

from mcp_memory.search.memory_intent import FIRST, LIMIT, wordings
from tests.benchmarks.train_memory_intent import train_memory_intent


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


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
