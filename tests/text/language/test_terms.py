"""When two word forms are the same word, and which words a text says."""

from __future__ import annotations

import pytest

from mcp_memory.text.language.identifiers import is_said, words_and_parts
from mcp_memory.text.language.terms import fold, terms, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("paint", "painted"),
        ("Zürich", "zurich"),
        ("naïve", "naive"),
        ("résumés", "resume"),
        ("ﬁx", "fix"),
        ("ＡＢＣ", "abc"),
    ],
)
def test_forms_of_a_word_meet(one: str, other: str) -> None:
    assert fold(one.lower()) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("地下", "地上"), ("が", "か"), ("zürich", "zarich")])
def test_other_words_do_not(one: str, other: str) -> None:
    assert fold(one) != fold(other)


def test_an_accent_that_stands_apart_divides_no_word() -> None:
    assert words("Zu\u0308rich lies") == ["zu\u0308rich", "lies"]
    assert terms("in Zu\u0308rich") == ["zu\u0308rich"]


def test_identifiers_say_their_parts_too() -> None:
    assert {"retry_with_pause", "retry", "paus"} <= words_and_parts("see retry_with_pause()")
    assert {"connect", "timeout"} <= words_and_parts("see connectTimeoutMs")
    assert {"max", "count"} <= words_and_parts("MAX_RETRY_COUNT")
    assert words_and_parts("plain words") == {"plain", "word"}


FULL = "9fceb02d0ae598e95dc970b74767f19372d61af8"


@pytest.mark.parametrize("one", [FULL, FULL[:12], FULL[:10], FULL[:8], FULL[:7]])
@pytest.mark.parametrize("other", [FULL, FULL[:12], FULL[:10], FULL[:7]])
def test_a_long_hash_says_what_it_is_abbreviated_to(one: str, other: str) -> None:
    assert is_said(one, words_and_parts(f"Fixed in {other.upper()}.")) == (
        one == other or len(max(one, other, key=len)) >= 10
    )


def test_other_numbers_have_no_short_form() -> None:
    assert not is_said("9fceb02", words_and_parts("9fceb02d in a register, effaced, 20261122103000, 9fceb0xd0ae598"))
    assert not is_said("9fceb03", words_and_parts(FULL))
