"""The form of the trees that judge whether a newer note makes an older one untrue; `tests/eval/test_claims.py` has
what they are worth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.comparison import overtaken
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.overtaken import likelihood, may_be_overtaken, pair_features

pytestmark = pytest.mark.fast

TABLE = json.loads(Path(overtaken.__file__).with_name("overtaken.json").read_text("utf-8"))
FEATURES = len(pair_features(NoteText("a"), NoteText("b"), 0.5, 0.1))
SHIP, LATER = "We ship the game in September.", "The full game comes out in February next year."


def test_each_way_through_a_tree_ends_at_a_leaf() -> None:
    assert len(TABLE["trees"]) > 50 and overtaken.judges(TABLE["embedding"]) and not overtaken.judges("other model")
    for nodes in TABLE["trees"]:
        for at, (feature, _, left, right, _) in enumerate(nodes):
            assert 0 <= feature < FEATURES
            assert left == right == 0 or at < left < right < len(nodes)


@given(st.text(max_size=80), st.text(max_size=80), st.floats(-1, 1), st.floats(-1, 1))
def test_any_two_texts_have_a_likelihood(older: str, newer: str, near: float, rest: float) -> None:
    said = NoteText(older, kind="fact"), NoteText(newer, kind="decision")
    assert len(pair_features(*said, near, rest)) == FEATURES
    assert 0 <= likelihood(*said, near, rest) <= 1
    assert likelihood(*said, near, rest) == likelihood(*said, near, rest)


def test_what_was_and_what_another_project_says_stays_true() -> None:
    assert may_be_overtaken(NoteText(SHIP, kind="decision"), NoteText(LATER, kind="note"))
    for kind, project in [("fix", ""), ("log", ""), ("task", ""), ("decision", "other")]:
        assert not may_be_overtaken(
            NoteText(SHIP, kind=kind, project=project), NoteText(LATER, kind="note", project="")
        )
    assert not may_be_overtaken(NoteText(SHIP, kind="fact"), NoteText(LATER * 20, kind="fact"))
    assert not may_be_overtaken(NoteText("Fact 2 about the kettle", kind="fact"), NoteText("Fact 3 about the kettle"))


def test_what_is_said_again_replaces_nothing() -> None:
    older, again = (NoteText(f"The field is {word} `customer_ref`.", kind="fact") for word in ("called", "named"))
    other = NoteText("The field is named `client_ref` now.", kind="fact")
    assert likelihood(older, again, 0.94, 0.2) == 0 < likelihood(older, other, 0.94, 0.2)


def test_nearness_tells() -> None:
    pair = NoteText(SHIP, kind="decision"), NoteText(LATER, kind="decision")
    assert likelihood(*pair, 0.6, 0.1) > 0.5 > likelihood(*pair, 0.2, 0.5)
