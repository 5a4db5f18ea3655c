"""What a sentence states, without its lead; questions, and what only explains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.language.sentences import bare_sentence, is_question, is_secondary


@pytest.mark.parametrize(
    ("sentence", "stated"),
    [
        ("Japan trip: no rail pass, because single tickets are cheaper.", "No rail pass, because single tickets are "
         "cheaper."),
        ("Flat: we take Plagwitz from 1 June; the notice goes out in May.", "Flat: we take Plagwitz from 1 June; the "
         "notice goes out in May."),
        ("Fix (commit a03d5c2, v3.9): set `max_size=6` for all.", "Set `max_size=6` for all."),
        ("harbor.jobs was 14 GB with 60,000 live rows", "harbor.jobs was 14 GB with 60,000 live rows."),
        ("ssh deploy@web-1 is the only way in", "ssh deploy@web-1 is the only way in."),
    ],
)  # fmt: skip
def test_what_a_sentence_states(sentence: str, stated: str) -> None:
    assert bare_sentence(sentence, "Japan trip") == stated


@given(st.text(), st.text(max_size=20))
def test_a_bare_sentence_is_part_of_its_sentence(sentence: str, title: str) -> None:
    found = bare_sentence(sentence, title).removesuffix(".")
    assert found[1:] in sentence


@pytest.mark.parametrize(
    ("sentence", "asks"),
    [
        ("Do we need an eSIM?", True), ("Open question whether we need an eSIM.", True), ("TODO: buy tickets.", True),
        ("Offen ist noch, wer die Nachklausur beaufsichtigt.", True), ("The shop is open until 18:00.", False),
        ("Polling was turned down.", False),
    ],
)  # fmt: skip
def test_what_is_left_open(sentence: str, asks: bool) -> None:
    assert is_question(sentence) is asks


@pytest.mark.parametrize(
    ("sentence", "secondary"),
    [("Cause: the cache was full.", True), ("WebSockets were turned down.", True), ("It was moved.", True),
     ("She wants short subjects.", True), ("Auch sonntags.", True),
     ("Live occupancy is pushed over server-sent events.", False), ("Items are sorted by age.", False)],
)  # fmt: skip
def test_what_only_explains(sentence: str, secondary: bool) -> None:
    assert is_secondary(sentence) is secondary
