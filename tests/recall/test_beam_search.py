"""The walk down the topic tree, by its properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from mcp_memory.recall.topic_page import MOST_READ, find_topic

Tree = Mapping[str, Sequence[str]]
"""Topic → those right below it; the top is below the empty name."""


class Looked:
    """Counts what a walk reads."""

    def __init__(self, tree: Tree, nearness: Mapping[str, float], fitting: frozenset[str]) -> None:
        self.tree, self.nearness, self.fitting = tree, nearness, fitting
        self.read: list[str] = []

    def near(self, topics: Sequence[str]) -> list[float]:
        self.read += topics
        return [self.nearness[topic] for topic in topics]

    def walk(self, **limits: int) -> str | None:
        return find_topic(self.tree[""], self.tree.__getitem__, self.near, self.fitting.__contains__, **limits)


def test_the_more_specific_topic_is_taken_where_it_is_nearer():
    tree = {"": ["trips"], "trips": ["trips/japan", "trips/spain"], "trips/japan": [], "trips/spain": []}
    nearness = {"trips": 0.5, "trips/japan": 0.7, "trips/spain": 0.4}
    assert Looked(tree, nearness, frozenset({"trips", "trips/japan"})).walk() == "trips/japan"
    assert Looked(tree, nearness, frozenset({"trips", "trips/spain"})).walk() == "trips"
    assert Looked(tree, nearness, frozenset()).walk() is None


@pytest.mark.parametrize("fan_out", [(3, 15, 14), (700,), (40, 16)])
def test_among_ten_thousand_notes_it_reads_a_few_hundred_vectors(fan_out: Sequence[int]):
    """16 notes a topic: in a tree of three levels, in one without parents, and in between."""
    tree: dict[str, list[str]] = {"": []}
    level = [""]
    for children in fan_out:
        for topic in level:
            tree[topic] = [f"{topic}/{number:03}" for number in range(children)]
        level = [each for topic in level for each in tree[topic]]
    tree |= {topic: [] for topic in level}
    assert 16 * len(level) >= 10_000
    wanted = level[-1]
    nearness = {topic: len(topic) / 100 if wanted.startswith(topic) else 0.01 for topic in tree}
    looked = Looked(tree, nearness, frozenset({wanted}))
    assert looked.walk() == wanted
    assert len(looked.read) <= MOST_READ
