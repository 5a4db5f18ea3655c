"""Confidence in a small vault: what it cannot show does not count."""

from __future__ import annotations

import pytest

from mcp_memory.search.confidence import FEWEST, coverage, known_words, nearness
from tests.support.passages import passage

WORDS = ("pump", "valve", "gasket", "flange")


@pytest.mark.parametrize("chunks", [1, 2, 5, FEWEST])
@pytest.mark.parametrize("known", [1, 2, 3])
def test_what_one_passage_says_of_a_question_does_not_hang_on_how_few_there_are(chunks: int, known: int) -> None:
    frequencies = {word: int(at < known) for at, word in enumerate(WORDS)}
    share = coverage(frequencies, chunks, known_words([passage(" ".join(WORDS[:known]))]))
    assert share == pytest.approx(known / len(WORDS), abs=0.08)


def test_a_passage_is_as_near_among_few_as_a_nearer_one_among_many() -> None:
    sizes = [1, 2, 5, 20, FEWEST, 10 * FEWEST]
    told = [nearness(0.3, chunks) for chunks in sizes]
    assert told == sorted(told, reverse=True) and told[0] > told[1] > told[2] > told[3] > told[4] == told[5] == 0.3
    assert nearness(0.3, 0) == 0.3, "their number is not known"
