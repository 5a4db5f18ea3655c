"""The extractive summary: the sources' own words, the same each time, within its budget."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.summarizers.base import (
    MOST_TITLE_CHARS,
    MOST_TITLE_WORDS,
    StatementRank,
    SummaryRequest,
    SummarySource,
)
from mcp_memory.summarizers.extractive import ExtractiveSummarizer
from mcp_memory.text.language.terms import folded, words
from mcp_memory.text.tokens import count_tokens

SUMMARIZER = ExtractiveSummarizer()
VOCABULARY = [
    *("deploy", "release", "staging", "Ada", "Redis", "cache", "timeout", "retry", "the", "of"),
    *("not", "never", "5", "May", "budget", "Kyoto", "tea", "train", "日本", "`a_b`"),
]

sentence = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12).map(lambda some: " ".join(some) + ". ")
line = st.tuples(st.sampled_from(["", "", "- ", "> ", "1. ", "## "]), st.lists(sentence, min_size=1, max_size=4)).map(
    lambda pair: pair[0] + "".join(pair[1]) + "\n"
)
texts = st.lists(line | st.just("\n"), max_size=8).map("".join) | st.text(max_size=80)
titles = st.lists(st.sampled_from(VOCABULARY), max_size=8).map(" ".join)
source_lists = st.lists(st.builds(SummarySource, titles, texts), max_size=6)
shares = st.dictionaries(st.sampled_from(["deploy", "redis", "tea", "cache"]), st.floats(0, 1))


def bare(text: str) -> str:
    return re.sub(r"[\s>|*+-]|[0-9]+[.)]", "", text)


@given(source_lists, st.integers(0, 120), shares)
@settings(deadline=None)
def test_it_holds_its_budget_and_says_only_what_the_sources_say(sources, budget_tokens, common):
    request = SummaryRequest(sources, budget_tokens, common=common)
    summary = SUMMARIZER.summarize(request)
    assert SUMMARIZER.summarize(request) == summary
    assert count_tokens(summary.text) <= budget_tokens
    said = [bare(source.text) for source in sources] + [bare(source.title) for source in sources]
    for entry in summary.text.split("\n") if summary.text else ():
        assert entry.startswith("- ") or entry.endswith("…")
        piece = bare(entry.removeprefix("- ").removesuffix("…"))
        assert any(piece in text for text in said), entry
    assert not summary.provisional and not summary.problem


@given(source_lists, shares)
@settings(deadline=None)
def test_the_words_of_a_title_come_from_the_sources(sources, common):
    title = SUMMARIZER.summarize(SummaryRequest(sources, 100, common=common)).title if sources else ""
    assert len(title.split()) <= MOST_TITLE_WORDS and len(title) <= MOST_TITLE_CHARS and "\n" not in title
    known = frozenset().union(*(folded(f"{source.title} {source.text}") for source in sources))
    assert folded(title) <= known | {word.strip("_") for word in known}  # without the marks of emphasis


def test_a_title_names_what_the_sources_share_and_not_what_all_memory_says():
    sources = [SummarySource(f"Note {n}", f"The Kyoto trip needs train tickets and tea, part {n}.") for n in range(4)]
    common = {"note": 0.9, "needs": 0.9, "part": 0.9}
    title = SUMMARIZER.summarize(SummaryRequest(sources, 100, common=common)).title
    assert {"kyoto", "trip"} <= set(words(title)) and "Note" not in title


ODD = ["", "\0\0", "---\n---", "<div>", "日本語" * 2000, "word " * 100_000, "x" * 1_000_000]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_any_text_is_taken(text):
    summary = SUMMARIZER.summarize(SummaryRequest([SummarySource("One", text), SummarySource("Two", text[::-1])], 200))
    assert count_tokens(summary.text) <= 200


def test_a_page_states_rules_then_facts_each_the_newest_first_and_others_as_room_allows():
    def source(statement: str, rank: StatementRank, *, is_overtaken: bool = False) -> SummarySource:
        return SummarySource("A title", statement, is_overtaken=is_overtaken, statement=statement, rank=rank)

    sources = [
        source("The pool broke on Monday.", StatementRank.OTHER),
        source("The pool gets 40 slots.", StatementRank.RULE),
        source("The pool gets 9 slots.", StatementRank.RULE, is_overtaken=True),
        source("Staging has 12 slots.", StatementRank.FACT),
        source("Nobody restarts the pool by hand.", StatementRank.RULE),
        SummarySource("D", "Open question: does the pool need a timeout?"),
    ]
    summary = SUMMARIZER.summarize(SummaryRequest(sources, 1, gist_sentences=2))
    assert summary.gist.split("\n") == ["Nobody restarts the pool by hand.", "The pool gets 40 slots."]
    assert summary.text == "- Staging has 12 slots." and list(summary.questions) == ["Does the pool need a timeout?"]
    whole = SUMMARIZER.summarize(SummaryRequest(sources, 500, gist_sentences=2))
    assert whole.text == "- Staging has 12 slots.\n- The pool broke on Monday."
    few = SUMMARIZER.summarize(SummaryRequest(sources[:1], 1, gist_sentences=2))
    assert few.gist == "The pool broke on Monday.", "an empty page helps nobody"


def test_below_a_statement_follow_those_that_it_changes_and_with_their_days_those_that_it_may_change():
    said = [
        "The pool gets 9 slots.",
        "Ada restarts it.",
        "The pool gets 20 slots.",
        "The pool gets 40 slots.",
    ]
    newer = [2, None, 3, None]
    sources = [
        SummarySource("Pool", text, statement=text, rank=StatementRank.FACT, newer=later, day=f"2026-05-0{day}")
        for day, (text, later) in enumerate(zip(said, newer, strict=True), 1)
    ]
    sources[0] = replace(sources[0], rank=StatementRank.RULE)
    sources[2] = replace(sources[2], is_changed=True)
    summary = SUMMARIZER.summarize(SummaryRequest(sources, 500, gist_sentences=3))
    assert summary.gist == "Ada restarts it."
    assert summary.text.split("\n") == [
        "- The pool gets 40 slots.",
        "  - earlier (2026-05-03): The pool gets 20 slots.",
        "  - 2026-05-01: The pool gets 9 slots.",
    ]


def test_a_page_has_at_most_16_lines_and_no_line_twice():
    said = [f"Port {number} is never open." for number in range(20)]
    sources = [SummarySource("Ports", text, statement=text, rank=StatementRank.RULE) for text in [*said, said[-1]]]
    summary = SUMMARIZER.summarize(SummaryRequest(sources, 500, gist_sentences=3))
    assert summary.gist.split("\n") == said[:-4:-1]
    assert summary.text.split("\n") == [f"- {text}" for text in said[-4:-17:-1]]


def test_a_question_that_a_later_source_answers_is_not_open_any_more():
    sources = [
        SummarySource("A", "Which archive takes the data, Pangaea or Zenodo?", "note"),
        SummarySource("B", "The data of the cores go to Pangaea and not to Zenodo.", "decision"),
        SummarySource("C", "Who cuts the cores?", "note"),
    ]
    assert list(SUMMARIZER.summarize(SummaryRequest(sources, 100, gist_sentences=3)).questions) == [
        "Who cuts the cores?"
    ]
