"""The walk down the topic tree, by its properties."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.recall.topic_page import MOST_READ, find_topic

Tree = Mapping[str, Sequence[str]]
"""Topic → those right below it; the top is below the empty name."""


@st.composite
def trees(draw: st.DrawFn) -> tuple[Tree, Mapping[str, float], frozenset[str]]:
    """A tree, how near each topic is, and those that fit."""
    parents = draw(st.lists(st.integers(0, 30), max_size=30))
    names = ["", *(f"t{at}" for at in range(len(parents)))]
    tree: dict[str, list[str]] = {name: [] for name in names}
    for name, parent in zip(names[1:], parents, strict=True):
        tree[names[parent % names.index(name)]].append(name)
    nearness = {name: draw(st.sampled_from([0.1, 0.2, 0.5, 0.9])) for name in names}
    return tree, nearness, frozenset(draw(st.lists(st.sampled_from(names[1:]), max_size=5)) if parents else [])


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


@given(trees(), st.integers(1, 5), st.integers(0, 12))
def test_it_reads_no_more_than_it_may_each_topic_once_and_finds_what_fits(case, beam, most):
    looked = Looked(*case)
    found = looked.walk(beam=beam, most=most)
    assert len(looked.read) <= most and len(set(looked.read)) == len(looked.read)
    assert found is None or (found in looked.fitting and found in looked.read)
    shuffled = {name: random.sample(below, len(below)) for name, below in looked.tree.items()}
    assert Looked(shuffled, looked.nearness, looked.fitting).walk(beam=beam, most=most) == found


@given(trees())
def test_below_all_of_them_it_finds_the_nearest_at_the_top_or_one_that_is_nearer_still(case):
    looked = Looked(*case)
    found = looked.walk(beam=100, most=100)
    at_top = [looked.nearness[topic] for topic in looked.tree[""] if topic in looked.fitting]
    assert (found is not None) == bool(looked.fitting)
    assert not at_top or (found and looked.nearness[found] >= max(at_top))


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
