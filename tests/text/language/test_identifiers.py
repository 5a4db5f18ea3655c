"""Identifiers and their parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.language.identifiers import joined, names_known, parts_of
from mcp_memory.text.language.terms import terms


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("why does retryBookingSync fail?", {"retrybookingsync": ["retry", "booking", "sync"]}),
        ("read_file", {"read_file": ["read", "file"]}), ("MAX_CHUNKS_2", {"max_chunks_2": ["max", "chunks", "2"]}),
        ("HTTPServer", {"httpserver": ["http", "server"]}), ("is_the_file", {"is_the_file": ["file"]}),
        ("Plain words, v2, __init__ and A_ b", {}), ("", {}), ("größeÄndern fooBär", {}),
    ],
)  # fmt: skip
def test_of_each_identifier_its_words(text: str, parts: dict[str, list[str]]) -> None:
    assert parts_of(text) == parts


def test_two_ways_to_write_it_are_one() -> None:
    assert joined("read_file") == joined("readFile".lower()) == "readfile"


@pytest.mark.parametrize(
    ("question", "passage", "known"),
    [
        ("DATABASE_URL", "set DATABASE_URL first", 1), ("E4021 again", "e4021 means a stale nonce", 1),
        ("retry_booking_sync", "in retryBookingSync", 1), ("ENOSPC", "it ended with ENOSPC", 1),
        ("E4021 or pg_dump", "E4021 came from pg_dump", 2), ("E4021", "E4022 is another", 0),
        ("what of inc-2231", "INC-2231: closed", 2), ("CVE-2024-3094?", "by CVE-2024-3094", 3), ("step-2", "step-2", 0),
        ("STOP", "the buses stop at nine", 0), ("PLEASE CONTINUE", "PLEASE CONTINUE, it says", 0),
        ("the 2nd one, 10am", "the 2nd one at 10am", 0), ("WHO and API", "WHO has an API", 0), ("plain", "plain", 0),
    ],
)  # fmt: skip
def test_names_are_known_by_how_they_are_written(question: str, passage: str, known: int) -> None:
    assert names_known(question, passage) == known


@given(st.text("aB_1 äx"))
def test_they_are_terms(text: str) -> None:
    assert set(parts_of(text)) <= set(terms(f"{text} x")) | {"x"}
