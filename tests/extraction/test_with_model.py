"""With the bundled model: what a few words agree to, which sentence is a reason, and what strangers' sessions give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_memory.embedders.base import Embedder, EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.statements.candidate import Candidate, Voice
from mcp_memory.statements.classifier import SentenceModel
from mcp_memory.statements.extractor import extract_candidates
from mcp_memory.statements.user_sentences import user_sentences
from tests.benchmarks.extraction_sessions import SESSIONS, files_in, score_files
from tests.extraction.talks import assistant, person

OFFER = "I'd name each export after its city and day, like `lyon_2026-11-23`."


@pytest.fixture(scope="module")
def model(model_cache: Path) -> Iterator[Embedder]:
    embedder = open_embedder(EmbedderConfig(), model_cache)
    yield embedder
    embedder.close()


def stored(model: Embedder, *messages: str) -> list[Candidate]:
    """The assistant speaks first, then the person, in turns; what counts at once."""
    said = [(assistant, person)[at % 2](text, at) for at, text in enumerate(messages)]
    return [one for one in extract_candidates(said, SentenceModel(model)) if one.outright]


@pytest.mark.parametrize("words", ["sounds good, let's do that", "yes, exactly in this way", "ja, so machen wir das"])
def test_what_a_few_words_agree_to_is_stored(model: Embedder, words: str):
    (found,) = stored(model, OFFER, words)
    assert "`lyon_2026-11-23`" in found.text and f"> {words}" in found.text


@pytest.mark.parametrize("words", ["hm, no idea", "wait, let me read that first", "no, not like that", "why?"])
def test_other_few_words_agree_to_nothing(model: Embedder, words: str):
    assert not stored(model, OFFER, words)


def test_a_reason_that_is_said_first_goes_with_its_statement(model: Embedder):
    (found,) = stored(
        model, "", "The auditors complained about it twice. Exports always go through the proxy from now on."
    )
    assert found.text == "The auditors complained about it twice. Exports always go through the proxy from now on."
    assert found.title == "Exports always go through the proxy from now on."


def test_who_she_is_stands_beside_what_she_does(model: Embedder):
    (found,) = stored(model, "", "talked to Petra. she leads ops from now on, ask her for the keys to the vault")
    assert found.text == "Talked to Petra. She leads ops from now on, ask her for the keys to the vault."


@pytest.mark.parametrize(
    ("said", "score"),
    [
        ("Staff gets 25 percent from now on, without confirmation. But only on bread, not on coffee.", 0.8),
        ("Staff gets 25 percent from now on, without confirmation. But the coffee machine is broken.", 0.9),
    ],
)
def test_a_limit_stays_with_its_statement_and_waits_with_it(model: Embedder, said: str, score: float):
    found = extract_candidates([person(said, 1)], SentenceModel(model))[0]
    assert found.score <= score and found.outright is (score > 0.8)
    assert found.text.endswith("not on coffee.") is (score == 0.8)


@pytest.mark.parametrize(
    ("first", "second", "now"),
    [
        ("Wir speichern Spielstände ab jetzt immer binär.", "halt, doch nicht.", "No longer: Wir speichern"),
        ("Versandkostenfrei liefern wir ab sofort ab 50 €.", "Quatsch, 60, nicht 50.", "Versandkostenfrei liefern wir"),
        ("Parcels stay in the depot for 14 days from now on.", "oops, 21, not 14", "Parcels stay in the depot for 21"),
    ],
)  # fmt: skip
def test_what_was_just_said_is_taken_back_or_corrected(model: Embedder, first: str, second: str, now: str):
    said = [person(first, 1), assistant("Ok.", 2), person(second, 3)]
    last = next(one for one in extract_candidates(said, SentenceModel(model)) if one.instead_of)
    assert last.text.startswith(now)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("I shouldn't touch the fonts while Lena works on them. Is she done?", "yes, Lena is done with the fonts"),
        ("Die Fonts fasse ich besser nicht an. Ist Lena fertig?", "ja, ist durch"),
    ],
)
def test_a_yes_to_a_question_of_fact_agrees_to_nothing(model: Embedder, answer: str, said: str):
    assert not [one for one in stored(model, answer, said) if one.voice is Voice.AGREED]


def test_three_points_end_no_sentence_and_a_date_neither(model: Embedder):
    assert [one.text for one in stored(model, "", "nightly job... runs at 02:15 from now on, always")] == [
        "Nightly job... runs at 02:15 from now on, always."
    ]
    said = "Seit dem 1. Oktober sind wir auf Java 21. Das gilt überall."
    assert [one.text for one in user_sentences(said)] == [
        "Seit dem 1. Oktober sind wir auf Java 21.", "Das gilt überall."
    ]  # fmt: skip


LINES = "Exports always go through the proxy, nobody talks to the bank.\nThe nightly job runs at 02:15 from now on."


@pytest.mark.parametrize("opening", ["got this in the group from the plant", "heres what ops put in the channel", ""])
def test_lines_below_an_opening_that_says_whose_they_are_are_not_yours(model: Embedder, opening: str):
    found = stored(model, "", f"{opening}\n{LINES}".strip())
    assert bool(found) is not bool(opening)


@pytest.mark.parametrize("above", [
    "<ide_opened_file>The user opened a.py</ide_opened_file> ", "<ide_opened_file>a.py</ide_opened_file>\n",
    "```\n3 passed\n```\n", "> as they say\n\n",
])  # fmt: skip
def test_what_a_client_or_a_quote_puts_above_changes_nothing(model: Embedder, above: str):
    said = "Lena left the company, Tom leads design now"
    assert [one.text for one in stored(model, "", above + said)] == [one.text for one in stored(model, "", said)] != []


def test_a_sentence_that_ends_isnt_the_opening_of_what_others_wrote(model: Embedder):
    (found,) = stored(model, "", "I removed the banner from the old contract.\nFrom now on all endpoints return JSON.")
    assert found.said == "From now on all endpoints return JSON."


def test_lines_that_end_as_on_windows_are_lines(model: Embedder):
    assert not stored(model, "", "look at this:\r\nDeploys are forbidden on Fridays.")


@pytest.mark.parametrize("words", ["actually scrap it, we go with sqlite", "forget that. sqlite instead"])
def test_what_is_taken_back_is_named(model: Embedder, words: str):
    *_, last = stored(model, "", "we use postgres for the ledger service from now on", "Noted.", words)
    assert "Instead of: We use postgres" in last.text or last.text.startswith("No longer: We use postgres")


def test_a_candidate_is_the_same_whatever_kind_a_model_gives_it(model: Embedder):
    said = [person("nightly job runs at 02:15 from now on, always", 1)]
    (one,), (other,) = (extract_candidates(said, each) for each in (SentenceModel(model), None))
    assert one.kind != other.kind and one.key("c", "s") == other.key("c", "s")


def test_what_an_answer_leans_on_stands_with_it(model: Embedder):
    asked = "The export can go to the finance share or to SharePoint. Which one?"
    (found,) = stored(model, asked, "the share, always. SharePoint eats our umlauts")
    assert "finance share" in found.text and "umlauts" in found.text


def test_what_holds_everywhere_is_told_from_what_holds_here(model: Embedder):
    (here,) = stored(model, "", "sensors are polled every ten minutes from now on")
    (everywhere,) = stored(model, "", "always answer me in French, please")
    assert (here.kind, everywhere.kind) == ("decision", "preference")


@pytest.mark.timeout(600)
def test_what_strangers_state_is_found(model: Embedder, model_cache: Path):
    """Floors under the figures of one of the sets that train nothing. Its sessions deserve more than the few proposals
    that a session may leave."""
    files = files_in([SESSIONS.parent / "held_out_4"])[::2]  # every run of the tests waits for it
    counts = score_files(files, models=model_cache)["all"].counts
    shares = {
        "precision at once": counts["right_once"] / counts["stored"],
        "recall at once": counts["right_once"] / counts["once"],
        "with proposals": counts["found"] / counts["wanted"],
        "reasons": counts["reasons"] / counts["of_reasons"],
    }
    floors = {"precision at once": 0.92, "recall at once": 0.38, "with proposals": 0.54, "reasons": 0.6}
    assert all(shares[name] >= floor for name, floor in floors.items()), shares
