"""The map: every topic as long as there is room, the deepest left out first, and links that lead to pages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.compaction.topic_index import SUMMARY_CHARS, MapEntry, render_map, short_summary
from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.text.tokens import count_tokens

NOW = datetime(2026, 11, 22, tzinfo=UTC)
PATH = NotePath("topics/_index.md")


def spot(name: str, level: int, title: str = "Green tea") -> MapEntry:
    return MapEntry(NoteId(name), title, NotePath(f"topics/{name}/_summary.md"), level, 3, NOW, NOW)


def body(spots: list[MapEntry], tokens: int, gist: str = "Tea is hot. It is green.") -> str:
    return frontmatter.parse(render_map(NoteId("M"), PATH, spots, lambda _: gist, tokens, NOW, NOW)).body


def test_topics_with_their_gist_one_below_the_other() -> None:
    said = body([spot("01-a", 0), spot("01-a/01-b", 1), MapEntry(None, "mine", None, 0, 1)], 1000).strip().splitlines()
    assert said[4:] == [
        "- [Green tea](./01-a/_summary.md) · 3 notes · 2026-11-22 — Tea is hot.",
        "  - [Green tea](./01-a/01-b/_summary.md) · 3 notes · 2026-11-22 — Tea is hot.",
        "- mine · 1 note — Tea is hot.",
    ]


@given(st.integers(100, 600), st.lists(st.integers(1, 4), min_size=1, max_size=12), st.text(max_size=300))
def test_it_keeps_to_its_budget_and_leaves_out_the_deepest(tokens: int, widths: list[int], gist: str) -> None:
    spots = [each for n, width in enumerate(widths)
             for each in (spot(f"{n:02}-a", 0), *(spot(f"{n:02}-a/{m:02}-b", 1) for m in range(width)))]  # fmt: skip
    said = body(spots, tokens, gist)
    assert count_tokens(said.strip()) <= tokens
    linked = [resolve(link.target, PATH) for link in find_links(said) if link.target.endswith("_summary.md")]
    shown = [each for each in spots if each.page in linked]
    assert linked == [each.page for each in shown]
    tops = sum(each.level == 0 for each in shown)
    assert tops == len(widths) or all(each.level == 0 for each in shown)
    assert ("more, found by" in said) == (len(shown) < len(spots))
    if len(shown) < len(spots):
        assert f"… and {len(spots) - len(shown)} topic" in said


@pytest.mark.parametrize(
    ("gist", "said"),
    [
        ("", ""),
        ("- Ada: see [tea](./tea.md) and [[x/y|rail]]. More.", "Ada: see tea and rail. More."),
        ("A <b>bold</b> `code`.", "A \\<b>bold\\</b> \\`code\\`."),
    ],
)
def test_the_first_sentence_in_a_line(gist: str, said: str) -> None:
    assert short_summary(gist) == said


def test_a_long_sentence_is_cut() -> None:
    assert len(short_summary("word " * 100 + ".")) <= SUMMARY_CHARS
