"""When two word forms are the same word, and which words a text says."""

from __future__ import annotations

import pytest

from mcp_memory.text.identifiers import said
from mcp_memory.text.terms import fold, terms, words


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
    assert {"retry_with_pause", "retry", "paus"} <= said("see retry_with_pause()")
    assert {"connect", "timeout"} <= said("see connectTimeoutMs")
    assert {"max", "count"} <= said("MAX_RETRY_COUNT")
    assert said("plain words") == {"plain", "word"}
