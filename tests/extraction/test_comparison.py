"""Restatements are known, and what merely sounds alike isn't."""

from __future__ import annotations

import pytest

from mcp_memory.statements.comparison import Holder, best_holder, say_the_same


@pytest.mark.parametrize(
    ("new", "known", "cosine", "expected"),
    [
        ("Always use uv instead of pip.", "please use uv instead of pip, always", 0.0, True),
        ("I hate nested ternaries.", "Nested ternaries are what I hate.", 0.95, True),
        ("The database listens on port 5433.", "The database listens on port 5432.", 0.97, False),
        ("Never use tabs.", "Always use tabs.", 0.0, False),
        ("Always use uv, never pip.", "Always use pip.", 0.0, False),
        ("Let's go with SQLite instead of Postgres.", "We chose Postgres.", 0.0, False),
        ("Always use uv instead of pip.", "Never use pip.", 0.0, False),
        ("Staging listens on port 5433.", "Production listens on port 5433.", 0.87, False),
        ("Always run the tests.", "Always run the linter.", 0.6, False),
        ("The customer field is named customer_ref.", "The field for the customer is called customer_ref.", 0.0, True),
        ("Vorlauftemperatur: höchstens 55 Grad", "Die Vorlauftemperatur ist höchstens 55 Grad.", 0.0, True),
        ("The customer field is named client_ref.", "The field for the customer is called customer_ref.", 0.9, False),
        ("Always ask before you push.", "Never add emojis.", 0.1, False),
    ],
)
def test_what_says_the_same(new: str, known: str, cosine: float, expected: bool):
    assert say_the_same(new, known, cosine) is expected


def test_a_statement_is_held_by_what_has_its_words_and_all_its_numbers():
    def held(text: str, by: str, cosine: float = 0.0) -> bool:
        return best_holder(text, [Holder("i", "p", by, False, cosine)]) is not None

    said = "The nightly export takes 42 minutes on the Frankfurt box."
    assert held(said, "Export: the nightly one takes 42 minutes (Frankfurt).")
    assert not held(said, "The nightly export takes 40 minutes on the Frankfurt box.")
    assert not held(said, "The nightly export is slow.")
    assert held(said, "42 min. for it", 0.9)
    waiting, counts = Holder("w", "w", said, True), Holder("c", "c", said, False)
    assert best_holder(said, [waiting, counts]) is counts and best_holder(said, []) is None
