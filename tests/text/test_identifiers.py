"""Identifiers and their parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.identifiers import joined, parts_of
from mcp_memory.text.terms import terms


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


@given(st.text("aB_1 äx"))
def test_they_are_terms(text: str) -> None:
    assert set(parts_of(text)) <= set(terms(f"{text} x")) | {"x"}
