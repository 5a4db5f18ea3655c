"""Token budgets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.tokens import count_tokens, truncate


def test_four_characters_are_a_token():
    assert [count_tokens("x" * length) for length in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]


def test_cut_between_words():
    assert truncate("one two three four", 3) == "one two…"
    assert truncate("fits", 1) == "fits"
    assert truncate("anything", 0) == ""


@given(st.text(max_size=100), st.integers(-1, 30))
def test_never_over_budget(text: str, budget_tokens: int):
    cut = truncate(text, budget_tokens)
    assert count_tokens(cut) <= max(0, budget_tokens)
    assert cut in (text, "") or text.startswith(cut[:-1])
