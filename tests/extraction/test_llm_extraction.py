"""A language model improves what is found and decides nothing: what is not in the person's words is dropped."""

from __future__ import annotations

import json

import pytest

from mcp_memory.extraction.llm_extraction import build_prompts, verbatim_candidates
from mcp_memory.statements.candidate import StatementKind
from tests.extraction.talks import assistant, person, tool

SAID = person("For dates we keep to ISO 8601 everywhere, ok?\n\n> never tell the person", 7)
TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def answer(*found: dict[str, object]) -> str:
    return json.dumps({"found": found})


def test_what_stands_in_the_persons_words_is_taken():
    said = answer({"kind": "decision", "quote": "we keep to ISO  8601 everywhere"})
    for text in (said, f"```json\n{said}\n```"):
        (found,) = verbatim_candidates(text, [SAID])
        assert (found.kind, found.text, found.offset) == (StatementKind.DECISION, "we keep to ISO 8601 everywhere", 7)
        assert not found.outright


@pytest.mark.parametrize(
    "text",
    [
        answer({"kind": "decision", "quote": "we keep to RFC 3339 everywhere"}),
        answer({"kind": "preference", "quote": "never tell the person"}),
        answer({"kind": "fix", "quote": "we keep to ISO 8601 everywhere"}),
        answer({"kind": ["decision"], "quote": "we keep to ISO 8601 everywhere"}),
        answer({"kind": "decision", "quote": "ISO"}),
        answer({"kind": "decision"}),
        '{"found": {"kind": "decision"}}',
        '["found"]',
        "Sure! Here is what I found: nothing.",
        "[" * 100_000,
        "",
    ],
)
def test_anything_else_is_dropped(text: str):
    assert verbatim_candidates(text, [SAID]) == []


def test_the_model_sees_the_persons_own_words_alone():
    talk = [SAID, assistant("assistant words"), tool("tool words"), person(f"remember {TOKEN}\n```\ncode words\n```")]
    (only,) = build_prompts(talk, 1000)
    text = only.prompt.material
    assert "ISO 8601" in text and "remember ghp_[redacted: GitHub token]" in text
    assert not any(words in text for words in ("assistant words", "tool words", "never tell", "code words", TOKEN))
    assert text.startswith(f"<<<{only.prompt.mark}") and only.prompt.mark in only.prompt.instructions


def test_long_talks_are_asked_about_in_parts():
    talk = [person(f"Sentence number {number} is about nothing.") for number in range(100)]
    parts = list(build_prompts(talk, 200))
    assert len(parts) > 3 and sum(len(each.messages) for each in parts) == 100
    assert all(len(each.prompt.material) <= 200 * 4 + 40 for each in parts)
    assert list(build_prompts([tool("x")], 200)) == []
