"""When two word forms are the same word, and which words a text says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.language.identifiers import is_word_in, words_and_parts
from mcp_memory.text.language.terms import (
    MIN_SPELLING_CHARS,
    fold,
    one_letter_away,
    terms,
    topic_asked_about,
    words,
)


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


FULL = "9fceb02d0ae598e95dc970b74767f19372d61af8"


@pytest.mark.parametrize("one", [FULL, FULL[:12], FULL[:10], FULL[:8], FULL[:7]])
@pytest.mark.parametrize("other", [FULL, FULL[:12], FULL[:10], FULL[:7]])
def test_a_long_hash_says_what_it_is_abbreviated_to(one: str, other: str) -> None:
    assert is_word_in(one, words_and_parts(f"Fixed in {other.upper()}.")) == (
        one == other or len(max(one, other, key=len)) >= 10
    )


def test_other_numbers_have_no_short_form() -> None:
    assert not is_word_in("9fceb02", words_and_parts("9fceb02d in a register, effaced, 20261122103000, 9fceb0xd0ae598"))
    assert not is_word_in("9fceb03", words_and_parts(FULL))


lower_case_words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=MIN_SPELLING_CHARS, max_size=12)


@given(lower_case_words, st.data())
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


@given(lower_case_words)
def test_who_is_near_is_near_from_both_sides(word: str) -> None:
    for other in one_letter_away(word)[::40]:
        assert len(other) < MIN_SPELLING_CHARS or word in one_letter_away(other)


WORDS = ("", "cat", "v1234", "Berlin", "über-mut", "mañana", "two words", "naïve", "x" * 100_000)


@pytest.mark.parametrize("word", WORDS)
def test_only_middling_words_of_small_english_letters(word: str) -> None:
    assert one_letter_away(word) == []


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("What do we know about the Japan trip?", {"japan", "trip"}),
        ("what do you already know of Kyoto", {"kyoto"}),
        ("Give me an overview of deployments", {"deployment"}),
        ("Summarise our notes on the staging database", {"stag", "databas"}),
        ("everything about Ada", {"ada"}),
        ("Tell me about it", set()),
        ("What’s our Kyoto trip about?", {"kyoto", "trip"}),
        ("How does month end work", {"month", "end"}),
        ("Where do we stand with the deploys?", {"deploy"}),
        ("Worum geht es beim Umzug?", {"umzug"}),
        ("Fass mir bitte die Backstube zusammen", {"backstub"}),
        ("Wie läuft die Kassenprüfung ab?", {"kassenprufung"}),
        ("Walk me through the month end", {"month", "end"}),
        ("De quoi parle notre voyage en Norvège ?", {"voyag", "norveg"}),
        ("¿Qué sabemos del huerto?", {"huerto"}),
        ("What is the port of the proxy?", set()),
        ("How does it end?", set()),
        ("Wann ist der Umzug?", set()),
        ("When does the Japan trip begin?", set()),
        ("How do I know that the build is green?", set()),
        ("", set()),
        ("What do we know about " + "x" * 300, set()),
    ],
)
def test_a_subject_is_what_is_asked_about_as_a_whole(question: str, subject: set[str]):
    assert topic_asked_about(question) == subject
