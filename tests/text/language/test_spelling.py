"""Words that are one letter away."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.language.spelling import SHORTEST, one_letter_away

words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=SHORTEST, max_size=12)


@given(words, st.data())
def test_any_slip_of_one_letter_is_among_them(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 1))
    letter = data.draw(st.sampled_from("abcxyz"))
    slips = {
        word[:at] + word[at + 1 :], word[:at] + letter + word[at:], word[:at] + letter + word[at + 1 :], word + letter,
        word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
    }  # fmt: skip
    nearby = one_letter_away(word)
    assert slips - {word} <= set(nearby)
    assert word not in nearby and nearby == sorted(set(nearby))


@given(words)
def test_who_is_near_is_near_from_both_sides(word: str) -> None:
    for other in one_letter_away(word)[::40]:
        assert len(other) < SHORTEST or word in one_letter_away(other)


WORDS = ("", "cat", "v1234", "Berlin", "über-mut", "mañana", "two words", "naïve", "x" * 100_000)


@pytest.mark.parametrize("word", WORDS)
def test_only_middling_words_of_small_english_letters(word: str) -> None:
    assert one_letter_away(word) == []
