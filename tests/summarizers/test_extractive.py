"""The extractive summary: the sources' own words, the same each time, within its budget."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.summarizers.base import MOST_TITLE_CHARS, MOST_TITLE_WORDS, SummaryRequest, SummarySource
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


@given(st.lists(sentence, min_size=1, max_size=3).map("".join), st.integers(6, 30))
@settings(deadline=None)
def test_a_source_that_says_something_is_never_told_by_nothing(text, budget_tokens):
    assert SUMMARIZER.summarize(SummaryRequest([SummarySource("A title of the note", text)], budget_tokens)).text


def test_every_source_has_its_say_before_any_has_two():
    subjects = ("cache", "queue", "mailer", "proxy")
    said = "The {0} breaks at noon. The {0} is fixed by Ada. Nobody likes the {0}."
    sources = [SummarySource(f"Note {subject}", said.format(subject)) for subject in subjects]
    text = SUMMARIZER.summarize(SummaryRequest(sources, 40)).text
    assert all(subject in text for subject in subjects)


def test_it_prefers_what_is_central_and_new_to_what_is_said_again():
    sources = [
        SummarySource("Pool", "The connection pool has 40 slots. By the way, lunch was good."),
        SummarySource("Pool again", "The connection pool has 40 slots. The pool is drained by `pgbouncer` on 5 May."),
    ]
    text = SUMMARIZER.summarize(SummaryRequest(sources, 25)).text
    assert "40 slots" in text and "pgbouncer" in text and "lunch" not in text


def test_what_is_cut_from_a_turn_says_who_spoke_and_greetings_give_way():
    talk = (
        "- Ann: Hello, hello! How nice to see you, thank you so much! So good, really good, so happy to hear it!\n"
        f"- Bea: {'We painted the porch and it took all of the morning. ' * 6}The pump broke on 5 May.\n"
        "- Ann: That is really sad, I feel so sorry, wow!\n- Bea: It is.\n"
    )
    text = SUMMARIZER.summarize(SummaryRequest([SummarySource("Talk", talk)], 20)).text
    assert text.split("\n")[0] == "- Bea: The pump broke on 5 May."
    assert "Hello" not in text


def test_a_source_without_a_sentence_is_told_by_its_title():
    sources = [
        SummarySource("Spoken", "It rains in Kyoto today."),
        SummarySource("How to start the server", "```\nmake run\n```"),
    ]
    assert (
        SUMMARIZER.summarize(SummaryRequest(sources, 100)).text
        == "- It rains in Kyoto today.\n- How to start the server"
    )


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


def test_a_gist_has_two_sentences_of_two_sources_whatever_the_budget_and_says_first_what_was_decided():
    sources = [
        SummarySource("Pool", "The pool broke on Monday, when nobody looked at it for six hours.", "fix"),
        SummarySource(
            "Pools", "Rejected: a pool per worker. The pool gets 40 slots.", "decision", rule="The pool gets 40 slots."
        ),
        SummarySource("C", "The pool had 9 slots until May.", "fact", is_overtaken=True),
        SummarySource("D", "Open question: does the pool need a timeout?", "note"),
    ]
    summary = SUMMARIZER.summarize(SummaryRequest(sources, 1, gist_sentences=3))
    assert summary.gist.split("\n") == [
        "The pool broke on Monday, when nobody looked at it for six hours.", "The pool gets 40 slots.",
    ]  # fmt: skip
    assert summary.text == "" and list(summary.questions) == ["Does the pool need a timeout?"]
    whole = SUMMARIZER.summarize(SummaryRequest(sources, 500, gist_sentences=1))
    assert whole.gist == "The pool gets 40 slots." and "9 slots" not in whole.text, "a newer note contradicts it"


def test_a_question_that_a_later_source_answers_is_not_open_any_more():
    sources = [
        SummarySource("A", "Which archive takes the data, Pangaea or Zenodo?", "note"),
        SummarySource("B", "The data of the cores go to Pangaea and not to Zenodo.", "decision"),
        SummarySource("C", "Who cuts the cores?", "note"),
    ]
    assert list(SUMMARIZER.summarize(SummaryRequest(sources, 100, gist_sentences=3)).questions) == [
        "Who cuts the cores?"
    ]


def test_a_list_of_what_was_rejected_is_not_told_as_what_holds():
    sources = [
        SummarySource("A", "Jobs stay in Postgres.\n\nRejected:\n- RabbitMQ: one more service.\n", "decision"),
        SummarySource("B", "The queue has four workers.", "fact"),
    ]
    summary = SUMMARIZER.summarize(SummaryRequest(sources, 500, gist_sentences=3))
    assert "Postgres" in summary.gist and "RabbitMQ" not in f"{summary.gist}{summary.text}"


def test_a_title_that_says_what_its_note_says_is_told_in_its_place():
    hold = "Hold time of unpaid slots goes from 10 to 6 minutes"
    sources = [
        SummarySource(hold, "The settings say `HOLD_MINUTES=6`.", "decision"),
        SummarySource("Payments", "Mollie sends only an id.", "fact"),
        SummarySource("Which answers of the bank mean a mandate is dead", "AC04 and MD01 end one.", "fact"),
        SummarySource("The webhook of Mollie sends nothing but one id", "The webhook sends nothing but an id.", "fix"),
        SummarySource("Slots of Zuidpark start at the full hour, always", "Slots of Zuidpark now start at half past "
                      "every full hour, always.", "fact"),
    ]  # fmt: skip
    summary = SUMMARIZER.summarize(SummaryRequest(sources, 500, gist_sentences=1))
    told = f"{summary.gist}\n{summary.text}"
    assert told.count(hold) == 1
    assert "start at half past" in told and "start at the full hour" not in told, "made before the text was edited"
    assert "AC04 and MD01" in told and "Which answers" not in told
    assert "Payments" not in told.replace("Payments: ", ""), "a name states nothing"


def test_a_detail_stands_beside_the_title_that_it_belongs_to():
    titles = [
        "The nightly build of 2026 starts after every merge",
        "Since May 12 nobody deploys on Fridays in summer",
        "Our 3 reviewers answer each request within hours",
    ]
    sources = [SummarySource(title, f"Gantry needs {at + 7} minutes.") for at, title in enumerate(titles)]
    summary = SUMMARIZER.summarize(SummaryRequest(sources, 500, gist_sentences=1))
    assert summary.gist in [f"{title}." for title in titles]
    assert sorted(line.partition(". ")[0][2:] for line in summary.text.splitlines()) == sorted(
        title for title in titles if not summary.gist.startswith(title)
    )
    assert all(line.endswith(" minutes.") for line in summary.text.splitlines())


@pytest.mark.parametrize(
    ("title", "text", "told"),
    [
        ("Port numbers of the payments gateway in both environments", "8443 and 9443.", "8443 and 9443"),
        ("~~~ payments webhook retries forever and very quickly", "Retries stop after a day.", "stop after a day"),
        ("<details> payments webhook retries forever quickly now", "Retries stop after a day.", "stop after a day"),
        ("Should we move the payments queue to Kafka this year?", "Yes, in March.", "Yes, in March"),
        ("Rejected alternatives for the payments queue design review:", "Kafka is dear.", "Kafka is dear"),
        ("支払い方法一覧", "クレジットカードと銀行振込だけを使う。", "クレジットカード"),
        ("Почему мы перешли на Kafka этой весной окончательно", "Очередь терялась дважды.", "терялась"),
    ],
)
def test_a_title_that_is_no_statement_takes_no_sentences_place(title: str, text: str, told: str):
    sources = [SummarySource(title, text), SummarySource("Cat", "The cat is called Minka.")]
    summary = SUMMARIZER.summarize(SummaryRequest(sources, 500, gist_sentences=3))
    lines = f"{summary.gist}\n{summary.text}".splitlines()
    assert any(told in line for line in lines) and title not in lines and not summary.questions
    assert not any(line.lstrip("- ").startswith(("~", "<")) for line in lines)


def test_titles_of_one_template_leave_the_page_to_the_notes():
    said = ["Apple Pay shipped.", "Refunds broke twice.", "The bank was slow.", "A vendor left."]
    sources = [SummarySource(f"Weekly status report {at} of the payments platform team", text)
               for at, text in enumerate(said)]  # fmt: skip
    summary = SUMMARIZER.summarize(SummaryRequest(sources, 500, gist_sentences=3))
    assert all(text in f"{summary.gist}\n{summary.text}" for text in said) and "Weekly" not in summary.gist
