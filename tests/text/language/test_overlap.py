"""What counts as overlap between a passage and what is said next."""

from __future__ import annotations

import pytest

from mcp_memory.text.language.overlap import echoes, telling

PASSAGE = "The staging database listens on port 5433."


@pytest.mark.parametrize(
    ("answer", "said", "found"),
    [
        ("Connect to port 5433, as noted.", "Where is staging?", True),
        ("Its ports: 5433 and no other.", "Where is staging?", True),
        ("The database of staging is up; the port is open.", "Where is staging?", False),
        ("Port 5433.", "Is it port 5433?", False),
        ("Done.", "Where is staging?", False),
        ("On port 5433.", "The database for staging: listens on 5433, port and all.", None),
    ],
)
def test_two_words_side_by_side_that_were_not_both_said_before(answer: str, said: str, found: bool | None):
    assert echoes(PASSAGE, answer, telling(said)) is found
    assert echoes(PASSAGE.upper(), answer, telling(said)) is found


def test_words_that_tell_nothing_are_no_echo():
    passage = "You should always make sure that it works really well."
    assert echoes(passage, "It works really well now.", frozenset()) is None
