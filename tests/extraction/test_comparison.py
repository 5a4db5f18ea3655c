"""Restatements are known, contradictions are seen, and what merely sounds alike is neither."""

from __future__ import annotations

import pytest

from mcp_memory.extraction.comparison import Holder, Relation, best_holder, relation

SAME, CONTRARY, OTHER = Relation.SAME, Relation.CONTRARY, Relation.OTHER


@pytest.mark.parametrize(
    ("new", "known", "cosine", "expected"),
    [
        ("Always use uv instead of pip.", "please use uv instead of pip, always", 0.0, SAME),
        ("I hate nested ternaries.", "Nested ternaries are what I hate.", 0.95, SAME),
        ("The database listens on port 5433.", "The database listens on port 5432.", 0.97, CONTRARY),
        ("Never use tabs.", "Always use tabs.", 0.0, CONTRARY),
        ("Always use uv, never pip.", "Always use pip.", 0.0, CONTRARY),
        ("Let's go with SQLite instead of Postgres.", "We chose Postgres.", 0.0, CONTRARY),
        ("Always use uv instead of pip.", "Never use pip.", 0.0, OTHER),
        ("Staging listens on port 5433.", "Production listens on port 5433.", 0.87, OTHER),
        ("Always run the tests.", "Always run the linter.", 0.6, OTHER),
        ("Always ask before you push.", "Never add emojis.", 0.1, OTHER),
    ],
)
def test_relation(new: str, known: str, cosine: float, expected: Relation):
    assert relation(new, known, cosine) is expected


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
