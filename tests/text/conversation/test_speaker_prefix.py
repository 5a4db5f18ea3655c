"""Leads: the names that entries begin with, and questions with and without them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.conversation.speaker_prefix import are_turns, possible_names, speaker_of, without


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("- Ada Lovelace: a lake", "Ada Lovelace"), ("Ada: tea", "Ada"), ("* **Ada**: red", "Ada"),
        ("1. `pytest`: in parallel", "pytest"), ("**Fix:** it", "Fix"), ("李雷: 你好", "李雷"),
        ("- Ada (13:56): tea", "Ada"), ("**Ada** (13:56, continued): tea", "Ada"), ("Ada (13:56) says: a", None),
        ("10:30: stand-up", None), ("https://example.org is down", None), ("no colon", None),
        ("one two three four five: six", None), ("", None), ("a\nb: c", None),
    ],
)  # fmt: skip
def test_the_name_in_front_of_the_first_colon(text: str, lead: str | None) -> None:
    assert speaker_of(text) == lead


@pytest.mark.parametrize(
    ("entries", "turns"),
    [
        (["- Ada: a", "- Bob: b", "- Ada: c", "- Bob: d"], True), (["- Ada (13:56): a", "- Ada:\n\n  - b"], True),
        (["- 3PO: a", "- 🤖 (9:00): b", "- 3PO: c", "- 🤖 (9:01): b"], True),
        (["- port: 80", "- host: a", "- user: b", "- mode: c"], False), (["- Ada: a", "- Bob: b", "- Ada: c"], False),
        (["- Ada: a", "- Ada: b", "none"], False), (["Ada: a", "Ada: b"], False), ([], False),
    ],
)  # fmt: skip
def test_a_conversation_is_told_from_a_list_of_keys(entries: list[str], turns: bool) -> None:
    assert are_turns(entries) == turns


def test_each_word_and_each_few_together_may_be_a_name() -> None:
    assert possible_names("What did Ada's friend, Grace Hopper, say?") == [
        "Ada", "friend", "Grace", "Hopper", "say",
        "did Ada", "Ada friend", "friend Grace", "Grace Hopper", "Hopper say",
        "What did Ada", "did Ada friend", "Ada friend Grace", "friend Grace Hopper", "Grace Hopper say",
        "What did Ada friend", "did Ada friend Grace", "Ada friend Grace Hopper", "friend Grace Hopper say",
    ]  # fmt: skip
    assert possible_names("what did you do to us") == []
    assert len(possible_names("word " * 100_000)) == 4
    assert len(possible_names(" ".join(f"w{number}" for number in range(1000)))) < 256


@pytest.mark.parametrize(
    ("question", "names", "rest"),
    [
        ("What did Ada's friend say to Ada?", ["Ada"], "What did friend say to ?"),
        ("Where is Ada Lovelace?", ["Ada", "Ada Lovelace"], "Where is ?"),
        ("Adam and ADA", ["Ada"], "Adam and"),
        ("why (a+b)?", ["(a+b)"], "why ?"),
    ],
)
def test_a_question_without_its_names(question: str, names: list[str], rest: str) -> None:
    assert without(question, names) == rest


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    names = possible_names(text)
    assert all(names) and len(set(names)) == len(names)
    assert len(without(text, names)) <= len(text)
    lead = speaker_of(text)
    assert lead is None or lead in text
