"""The relevance of each passage for a prompt: what the features say, and that the numbers stay probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.index.base import ScoredRows
from mcp_memory.search.fusion import RetrieverRows
from mcp_memory.search.ranking import WeightedRow
from mcp_memory.search.relevance import (
    JUDGED,
    MOST_NAMED,
    WITH_VECTORS,
    WITH_WORDS,
    RelevanceFeatures,
    relevances,
)
from mcp_memory.search.retrievers import KeywordRows
from tests.support.passages import passage

FINITE = st.floats(-50, 50)
TEXTS = st.text(max_size=60)


def ranked(*texts: str, path: str = "notes/{}.md") -> list[WeightedRow]:
    """Passages with the chunk ids 0, 1 and so on, each a tenth worse than the one before."""
    found = [replace(passage(text, path.format(number)), chunk_id=number) for number, text in enumerate(texts)]
    return [WeightedRow(each, 2 * 0.9**number, 2.0, {}) for number, each in enumerate(found)]


def listed(*chunks: int, best: float = 0.6) -> ScoredRows:
    scores = best - 0.05 * np.arange(len(chunks), dtype=np.float32)
    return ScoredRows(np.array(chunks, dtype=np.int64), scores.astype(np.float32))


def judged(rows: list[WeightedRow], retrieved: RetrieverRows, prompt: str = "", **frequencies: int) -> list[float]:
    keywords = KeywordRows(retrieved.lexical, retrieved.section, frequencies, {}, 100)
    return relevances(rows, retrieved, keywords, prompt=prompt, confidence=0.7, knows_cosines=True)


@given(st.builds(RelevanceFeatures, *[FINITE] * 7), st.sampled_from([WITH_VECTORS, WITH_WORDS]))
def test_a_probability_is_one_whatever_the_features(features: RelevanceFeatures, weights: object) -> None:
    assert 0.0 <= weights.probability(features) <= 1.0


@given(st.lists(TEXTS, max_size=30), TEXTS, st.floats(0, 1), st.booleans(), st.data())
def test_any_passages_of_any_prompt_are_judged(
    texts: list[str], prompt: str, sure: float, knows_cosines: bool, data: st.DataObject
) -> None:
    rows = ranked(*texts)
    some = st.lists(st.sampled_from(range(len(texts) or 1)), unique=True)
    retrieved = RetrieverRows(
        listed(*data.draw(some)), dense=listed(*data.draw(some), best=data.draw(st.floats(-1, 1)))
    )
    frequencies = data.draw(st.dictionaries(st.text("abc", min_size=1), st.integers(0, 40), max_size=5))
    keywords = KeywordRows(retrieved.lexical, retrieved.section, frequencies, {}, data.draw(st.integers(0, 40)))
    found = relevances(rows, retrieved, keywords, prompt=prompt, confidence=sure, knows_cosines=knows_cosines)
    assert len(found) == len(rows) and all(0.0 <= each <= 1.0 for each in found)
    assert not any(found[JUDGED:])


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_surer_the_whole_the_likelier_each_passage(one: float, other: float) -> None:
    rows, retrieved = ranked("pump"), RetrieverRows(listed(0), dense=listed(0))
    keywords = KeywordRows(retrieved.lexical, frequencies={"pump": 1}, chunks=100)
    found = [
        relevances(rows, retrieved, keywords, prompt="pump", confidence=sure, knows_cosines=True)[0]
        for sure in sorted((one, other))
    ]
    assert found == sorted(found)


def test_what_has_the_rare_words_stands_above_what_has_the_common_one() -> None:
    rows = ranked("the gasket of the pump leaks", "the pump is red", "the cat's tablets")
    found = judged(rows, RetrieverRows(listed(0, 1), dense=listed(0, 1, 2)), gasket=1, pump=20)
    assert found == sorted(found, reverse=True) and found[0] > 3 * found[2]


def test_exact_names_are_never_left_out() -> None:
    texts = [*["nothing of the kind"] * 10, "set DATABASE_URL before you start"]
    rows = ranked(*texts)
    found = judged(rows, RetrieverRows(listed(10), dense=listed(*range(11))), "why is DATABASE_URL not read")
    assert found[10] == 1.0 > max(found[:10])
    many = ranked(*[f"{number} reads DATABASE_URL" for number in range(MOST_NAMED + 1)])
    assert 1.0 not in judged(many, RetrieverRows(), "why is DATABASE_URL not read"), "then it tells nothing apart"


@pytest.mark.parametrize("knows_cosines", [True, False])
def test_a_passage_in_another_language_can_be_found_by_meaning(knows_cosines: bool) -> None:
    rows = ranked("Die Pumpe ist undicht", "something else")
    retrieved = RetrieverRows(dense=listed(0, 1))
    keywords = KeywordRows(frequencies={"pump": 0}, chunks=100)
    found = relevances(rows, retrieved, keywords, prompt="the pump", confidence=0.6, knows_cosines=knows_cosines)
    assert found[0] > 2 * found[1] or found[0] > 0.05
