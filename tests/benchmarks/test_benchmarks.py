"""The benchmarks themselves: the notes are what their names say, and a goal is missed when it is."""

from __future__ import annotations

import re

import pytest

from mcp_memory.text.chunking.chunker import ChunkingConfig, cut
from tests.benchmarks.calls import in_turns
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.figures import Figure, line, percentile


@pytest.mark.parametrize("corpus", [Corpus(notes=30, entries=5), Corpus(notes=20, entries=10), Corpus(20, 2, "many")])
def test_each_entry_is_one_chunk(corpus: Corpus):
    texts = [corpus.text(number) for number in range(corpus.notes)]
    chunks = [len(cut(text, 0, ChunkingConfig(), log=False).chunks) for text in texts]
    assert chunks == [corpus.entries] * corpus.notes
    assert texts == [corpus.text(number) for number in range(corpus.notes)], "the same number, the same note"
    assert len(set(texts)) == len(texts)


def test_a_question_stands_in_a_note():
    corpus = Corpus(notes=10, entries=5)
    everything = re.sub(r"\W+", " ", " ".join(corpus.text(number) for number in range(10))).lower()
    questions = [corpus.question(number) for number in range(50)]
    assert all(question in everything for question in questions)
    assert {len(question.split()) for question in questions} == {5, 6, 7, 8, 9, 10}


@pytest.mark.parametrize(
    ("figure", "met"),
    [
        (Figure("x", 4.0, "ms", 4, floor=1.0), True),
        (Figure("x", 4.1, "ms", 4, floor=1.0), False),
        (Figure("x", 4.1, "ms", 4), False),
        (Figure("x", 0.8, "ms", 4, floor=0.1), False),
        (Figure("x", 85.0, "chunks/s", 0.85, floor=100.0, bound="least"), True),
        (Figure("x", 84.0, "chunks/s", 0.85, floor=100.0, bound="least"), False),
    ],
)
def test_a_goal_is_on_the_ratio_where_there_is_a_floor(figure: Figure, met: bool):
    assert figure.met is met
    assert figure.payload()["met"] is met
    assert ("MISSED" in line(figure)) is not met


def test_calls_take_turns_and_the_first_do_not_count():
    order: list[str] = []

    def call(name: str, number: int) -> float:
        order.append(name)
        return float(number)

    calls = [lambda number: call("floor", number), lambda number: call("ours", -number)]
    assert in_turns(calls, 2, warm_up=3) == [[3.0, 4.0], [-3.0, -4.0]]
    assert order == ["floor", "ours"] * 5
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert percentile(range(100), 99) == 99
