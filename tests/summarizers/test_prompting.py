"""What a language model is told: its orders are ours alone, and what others wrote stands between marks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.summarizers.base import SummaryRequest, SummarySource
from mcp_memory.summarizers.prompting import prompt_for
from mcp_memory.text.tokens import CHARS_PER_TOKEN
from tests.summarizers.conftest import SOURCES


def parts(material: str, mark: str) -> list[str]:
    assert material.startswith(f"<<<{mark}\n") and material.endswith(f"\n{mark}>>>")
    inside = material.removeprefix(f"<<<{mark}\n").removesuffix(f"\n{mark}>>>")
    return re.split(rf"^{mark} ", inside, flags=re.MULTILINE)[1:]


@pytest.mark.parametrize(
    ("depth", "words"),
    [(1, "a group of notes"), (2, "summaries of several topics"), (3, "broad fields"), (7, "broad fields")],
)
def test_each_depth_has_its_own_orders(depth: int, words: str):
    prompt = prompt_for(SummaryRequest(SOURCES, 350, depth=depth), 1000)
    assert words in prompt.instructions and "write the summary from it alone" in prompt.instructions
    assert "At most 200 words" in prompt.instructions and "$" not in prompt.instructions
    assert [part.split("\n")[0] for part in parts(prompt.material, prompt.mark)] == [
        f"source {place} of 3: {source.title}" for place, source in enumerate(SOURCES, 1)
    ]


def test_a_terse_prompt_asks_for_half():
    prompt = prompt_for(SummaryRequest(SOURCES, 350), 1000, terse=True)
    assert "At most 100 words" in prompt.instructions and "too long to be used" in prompt.instructions


def test_an_update_tells_the_old_summary_and_what_changed():
    request = SummaryRequest(SOURCES, 350, previous="- The pool has 20 slots.", changed={0})
    prompt = prompt_for(request, 1000)
    assert "Bring the summary up to date" in prompt.instructions and "from it alone" not in prompt.instructions
    assert parts(prompt.material, prompt.mark) == [
        "the summary so far\n- The pool has 20 slots.\n",
        f"source 1 of 3, new or changed: {SOURCES[0].title}\n{SOURCES[0].text}\n",
        f"source 2 of 3, as before: {SOURCES[1].title}\n",
        f"source 3 of 3, as before: {SOURCES[2].title}",
    ]


def test_without_a_change_or_an_old_summary_all_is_told_afresh():
    fresh = prompt_for(SummaryRequest(SOURCES, 350), 1000)
    assert prompt_for(SummaryRequest(SOURCES, 350, previous="- Old.", changed=frozenset()), 1000) == fresh
    assert prompt_for(SummaryRequest(SOURCES, 350, previous=" \n", changed={1}), 1000) == fresh


def test_long_notes_are_cut_so_that_short_ones_stay_whole():
    sources = [
        SummarySource("Long", "long words " * 10_000),
        SummarySource("Short", "Whole."),
        SummarySource("Longer", "more words " * 50_000),
    ]
    prompt = prompt_for(SummaryRequest(sources, 100), 1000)
    texts = [part.split("\n", 1)[1].strip() for part in parts(prompt.material, prompt.mark)]
    assert texts[1] == "Whole."
    assert all(text.endswith("…") for text in (texts[0], texts[2]))
    assert 1900 < len(texts[0]) <= 2000 and 1900 < len(texts[2]) <= 2000


@given(
    st.lists(st.builds(SummarySource, st.text(max_size=30), st.text(max_size=300)), min_size=1, max_size=5),
    st.integers(1, 300),
)
@settings(deadline=None)
def test_no_text_can_close_the_quote_and_all_of_it_is_within_bounds(sources: list[SummarySource], prompt_tokens: int):
    prompt = prompt_for(SummaryRequest(sources, 100), prompt_tokens)
    found = parts(prompt.material, prompt.mark)
    assert len(found) == len(sources)
    assert sum(len(part.split("\n", 1)[1]) for part in found if "\n" in part) <= (
        prompt_tokens * CHARS_PER_TOKEN + len(sources)
    )
    assert prompt.material.count(prompt.mark) == len(sources) + 2
    prompt.material.encode()


def test_what_a_note_hides_is_shown():
    prompt = prompt_for(SummaryRequest([SummarySource("A\nB\u202e", "say\U000e0041 \ud800")], 100), 1000)
    assert "1 of 1: A B\\u{202E}\nsay\\u{E0041} \\u{D800}" in prompt.material
