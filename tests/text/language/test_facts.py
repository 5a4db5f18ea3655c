"""Facts by their form: what is one, that two texts have the facts of both, and that no text stalls the search."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.text.language.facts import MAX_FACTS, FactKind, facts

NUMBER, DATE, NAME, IDENTIFIER, NEGATION = get_args(FactKind)

PIECES = [
    *("Ada", "met", "Berlin", "not", "never", "`run_it`", "retry_count", "5", "May", "2024", "2024-05-06", "1,200"),
    *(".", ",", "\n", "src/a.py", "IT", "isn't", "the", "budget", "--force", "marketing", "12", "3rd", "of", "`"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It took 1,200 ms and 3.5 s.", {(NUMBER, "1200"), (NUMBER, "3.5")}),
        ("on 5 May 2024", {(DATE, "2024-05-05")}),
        ("on May 5th, 2024, or 2024-05-06", {(DATE, "2024-05-05"), (DATE, "2024-05-06")}),
        ("3rd\nDec", {(DATE, "12-03")}),
        ("5\n\nMay 2024", {(NUMBER, "5"), (NUMBER, "2024")}),
        ("marketing 12 decided 3", {(NUMBER, "12"), (NUMBER, "3")}),
        ("run `make all` in src/core/a.py", {(IDENTIFIER, "make all"), (IDENTIFIER, "src/core/a.py")}),
        ("retry_count and RetryCount", {(IDENTIFIER, "retry_count"), (IDENTIFIER, "RetryCount")}),
        ("pass --force, not -f", {(IDENTIFIER, "--force"), (NEGATION, "f")}),
        ("we asked Ada's team in Berlin", {(NAME, "Ada"), (NAME, "Berlin")}),
        ("on 5 May Berlin agreed", {(DATE, "05-05"), (NAME, "Berlin")}),
        ("with `x` Ada too", {(IDENTIFIER, "x"), (NAME, "Ada")}),
        ("the API costs USD 5", {(NAME, "API"), (NAME, "USD"), (NUMBER, "5")}),
        ("do not use Redis", {(NAME, "Redis"), (NEGATION, "use redi")}),
        ("nothing to see", set()),
    ],
)  # fmt: skip
def test_what_is_a_fact(text: str, found: set[tuple[FactKind, str]]):
    assert {(fact.kind, fact.key) for fact in facts(text)} == found


@given(texts, texts)
@settings(deadline=None)
def test_two_paragraphs_state_the_facts_of_both(one: str, other: str):
    assert facts(f"{one}\n\n{other}") >= facts(one) | facts(other)


def test_a_table_of_numbers_is_cut_off():
    assert len(facts(" ".join(str(number) for number in range(2 * MAX_FACTS)))) == MAX_FACTS
