"""Which questions ask about a subject as a whole."""

from __future__ import annotations

import pytest

from mcp_memory.text.language.topic_query import subject_of


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("What do we know about the Japan trip?", {"japan", "trip"}),
        ("what do you already know of Kyoto", {"kyoto"}),
        ("Give me an overview of deployments", {"deployment"}),
        ("Summarise our notes on the staging database", {"stag", "databas"}),
        ("everything about Ada", {"ada"}),
        ("Tell me about it", set()),
        ("When does the Japan trip begin?", set()),
        ("How do I know that the build is green?", set()),
        ("", set()),
        ("What do we know about " + "x" * 300, set()),
    ],
)
def test_a_subject_is_what_is_asked_about_as_a_whole(question: str, subject: set[str]):
    assert subject_of(question) == subject
