"""What is found in messages: by kind, in the person's words, and never a secret."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.statements.candidate import StatementKind, make_title
from mcp_memory.statements.extractor import extract_candidates
from mcp_memory.statements.language import languages
from tests.benchmarks.extraction import AT_ONCE, DUE, FILES, HELD_OUT, PRECISION, WRITTEN_WITH, tallied
from tests.extraction.talks import AT, assistant, person, tool

TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def test_promises_and_reminders_wait_for_review():
    tally = tallied(DUE)
    assert tally.found["commitment"] >= 30 and tally.precision("commitment") >= PRECISION
    assert tally.recall("commitment") >= 0.9 and not tally.found[AT_ONCE]


@pytest.mark.parametrize("which", [WRITTEN_WITH, HELD_OUT, *FILES])
def test_no_other_message_is_taken_for_a_promise(which: str):
    assert which == DUE or not tallied(which).found["commitment"]


@pytest.mark.parametrize("which", [WRITTEN_WITH, HELD_OUT])
def test_nine_of_ten_that_count_at_once_are_right(which: str):
    tally = tallied(which)
    assert tally.found[AT_ONCE] >= 30 and tally.precision(AT_ONCE) >= PRECISION
    assert tally.recall(AT_ONCE) >= 0.85


def test_a_language_is_a_table():
    assert len(languages()) == 4


@pytest.mark.parametrize(
    ("words", "sort"),
    [
        ("Always use uv.", StatementKind.PREFERENCE),
        ("Benutz immer uv.", StatementKind.PREFERENCE),
        ("Utilise toujours uv.", StatementKind.PREFERENCE),
        ("Usa siempre uv.", StatementKind.PREFERENCE),
        ("we decided to drop Redis", StatementKind.DECISION),
        ("We use uv, never pip.", StatementKind.DECISION),
        ("Wir benutzen uv, nie pip.", StatementKind.DECISION),
        ("On utilise uv, pas pip.", StatementKind.DECISION),
        ("Usamos uv, no pip.", StatementKind.DECISION),
        ("no, use pnpm instead", StatementKind.LESSON),
        ("remember: the port is 5433", StatementKind.FACT),
    ],
)
def test_what_is_stated_outright(words: str, sort: StatementKind):
    (found,) = extract_candidates([person(words, 70)])
    assert (found.kind, found.said, found.outright, found.offset, found.speaker) == (sort, words, True, 70, "Ada")
    said = words.removeprefix("remember: ")
    assert found.text == f"{said[0].upper()}{said[1:].removesuffix('.')}.", "in clean words"


def test_a_label_says_the_kind():
    words = "Lesson: if the brioche rests for less than 8 hours, it tears."
    (found,) = extract_candidates([person(words)])
    assert (found.kind, found.text) == (StatementKind.LESSON, words)


@pytest.mark.parametrize(
    "words",
    [
        "Do you always use uv?",
        "If you always use uv, the lock file is right.",
        "Tom says always use npm.",
        "I'm not saying we should never mock.",
        "just this once, never mind the tests",
        "it always fails",
        "they decided to drop Redis",
        "",
    ],
)
def test_what_claims_nothing(words: str):
    assert not [each for each in extract_candidates([person(words)]) if each.outright]


@pytest.mark.parametrize(
    "words",
    [
        "remember this for later: we deploy from Lund.",
        "please note it down, we deploy from Lund.",
        "remember it for next time: we deploy from Lund.",
    ],
)
def test_a_request_to_remember_says_what(words: str):
    (found,) = extract_candidates([person(words)])
    assert found.outright and found.text == "We deploy from Lund."


@pytest.mark.parametrize("words", ["Please note it for the other four projects.", "note it down in the runbook too"])
def test_a_note_that_is_to_be_made_elsewhere_is_a_task(words: str):
    assert not extract_candidates([person(words)])


def test_the_least_context_and_a_title_without_what_leads_to_it():
    (found,) = extract_candidates(
        [person("Looks good, thanks. And please always pin the seed in tests. Now the docs.")]
    )
    assert found.text == found.title == "Always pin the seed in tests."
    assert found.said == "And please always pin the seed in tests."


def test_a_plain_no_is_joined_to_what_is_right():
    (found,) = extract_candidates([person("No. Use postgres, it runs already.")])
    assert found.kind is StatementKind.LESSON and found.text == "No. Use postgres, it runs already."


def test_a_secret_is_taken_out():
    (found,) = extract_candidates([person(f"remember: the deploy token is {TOKEN}")])
    assert TOKEN not in found.text + found.title and "[redacted: GitHub token]" in found.text


def test_the_same_words_have_the_same_key_wherever_they_stand():
    one, other = (extract_candidates([person("Always use uv.", place)])[0] for place in (0, 4711))
    later, undated = (
        extract_candidates([person("Always use uv.", at=at)])[0] for at in (AT + timedelta(seconds=1), None)
    )
    assert one.key("codex", "s") == other.key("codex", "t") != later.key("codex", "s")
    assert undated.key("codex", "s") != undated.key("codex", "t")


def test_an_error_that_a_tool_met_and_the_person_says_is_gone():
    talk = [
        tool("$ make\nerror: linker `cc` not found", 1, failed=True),
        assistant("We need build-essential.", 2),
        tool("Finished", 3),
        person("works now, thanks", 4),
    ]
    (found,) = extract_candidates(talk)
    assert found.kind is StatementKind.FIX and not found.outright and found.offset == 4 and found.score == 0.8
    assert "linker `cc` not found" in found.text and "build-essential" in found.text and "works now" in found.text
    (unconfirmed,) = extract_candidates([*talk[:3], person("now the docs", 4)])
    assert unconfirmed.score == 0.5 and unconfirmed.offset == 3
    assert extract_candidates([*talk[:2], person("still broken", 4)]) == []
    assert extract_candidates([talk[0], talk[2], person("now the docs", 4)]) == [], "nobody said what to do"
    assert extract_candidates([*talk[:3], person("does it work now?", 4)])[0].score == 0.5


def test_an_error_that_a_person_pasted():
    pasted = person("I get this:\n```\nValueError: bad seed\n```", 1)
    (found,) = extract_candidates([pasted, assistant("Pass an int.", 2), person("yes, that was it", 3)])
    assert found.kind is StatementKind.FIX and "ValueError: bad seed" in found.text


@pytest.mark.parametrize(
    ("offer", "answer"),
    [
        ("I can make the time date-dependent or you set yourself a reminder for 31 December.", "the reminder please"),
        ("Ich kann die Zeit anpassen oder du setzt dir eine Erinnerung für Dezember.", "die Erinnerung bitte"),
        ("Je peux adapter l'heure ou tu te mets un rappel pour décembre.", "le rappel plutôt"),
        ("Puedo adaptar la hora o tú te pones un recordatorio para diciembre.", "el recordatorio mejor"),
    ],
)
def test_what_the_person_would_do_is_no_decision(offer: str, answer: str):
    assert extract_candidates([assistant(offer), person(answer, 1)]) == []


def test_titles():
    assert make_title("a `b` " * 40) == f"A b{' a b' * 24} …"
    said = (
        "Priya promised Henrike the first December sample by Thursday, 3 December 2026, as a PDF with one page a store"
    )
    assert make_title(said) == "Priya promised Henrike the first December sample by Thursday, 3 December 2026"
    said = "Run the backtest with polars lazy on the laptop, which (16 GB, as of today) is too small for pandas anyway"
    assert make_title(said) == "Run the backtest with polars lazy on the laptop"
    assert make_title("sqlalchemy.exc.Error in tests") == "sqlalchemy.exc.Error in tests"
    assert make_title("") == "" and make_title("x" * 300) == f"X{'x' * 99} …"


DECIDED = "We decided to run the backup at 22:00."


@pytest.mark.parametrize(
    ("between", "words"),
    [
        ((person("could we put the logo on top?", 1),), "scrap that"),
        ((person("what if we'd store the keys in a sheet? or is that stupid", 1),), "scrap that. we take sqlite"),
        ((assistant("Shall I put the logo on top?", 1),), "no, forget it"),
        ((person("maybe the logo could go on top", 1),), "vergiss das bitte"),
        ((person("rename the file to a.py", 1),), "déjalo"),
        ((person("et si on mettait le logo en haut ?", 1),), "laisse tomber"),
        ((), "could we put the logo on top? scrap that"),
    ],
)
def test_a_retraction_means_only_what_was_said_last(between: Sequence[TranscriptMessage], words: str):
    found = extract_candidates([person(DECIDED, 0), *between, person(words, 9)])
    assert [one.text for one in found if one.instead_of or one.offset == 0] == [DECIDED]


@pytest.mark.parametrize(
    ("between", "words"),
    [
        ((), "vergiss das bitte"),
        ((), "déjalo"),
        ((), "laisse tomber"),
        ((assistant("Noted. Shall I change the backup job?", 1),), "no wait, scratch that"),
        ((assistant("Noted.", 1), person("thanks", 2)), "forget what I said about the backup"),
    ],
)
def test_a_retraction_of_the_last_statement_or_by_name(between: Sequence[TranscriptMessage], words: str):
    (found,) = extract_candidates([person(DECIDED, 0), *between, person(words, 9)])
    assert found.text.startswith(f"No longer: {DECIDED}") and found.outright


@pytest.mark.parametrize(
    "said",
    [
        "test files go under tests/data, don't commit real shows, the rights holder would kill us",
        "please don't use tabs",
        "don't send mails to patients",
        "do not use gluten in the base mix",
        "schreib nicht mehr in die alten Tabellen",
        "nie Kundendaten ins Repo",
        "no subas datos reales, por favor",
        "ne commite pas de données réelles, le client nous tuerait",
        "could you please answer a bit shorter from now on, i read this on my phone",
        "would you please keep the recipes in grams from now on?",
        "könntest du bitte ab jetzt kürzer antworten, ich lese am Handy",
        "peux-tu répondre plus court désormais, je lis sur mon téléphone",
        "¿podrías responder más corto a partir de ahora?",
    ],
)
def test_a_prohibition_and_a_request_that_lasts_are_stored(said: str):
    (found,) = extract_candidates([person(said)])
    assert found.outright and not found.text.endswith("?") and found.kind in {"preference", "decision"}


@pytest.mark.parametrize(
    "said",
    [
        "please don't push to main without asking me",
        "don't add new files",
        "bitte keine Kundendaten committen, sonst kriegen wir Ärger",
        "please commit in small steps, i always loose track",
        "in this repo comments and names in english please, the output in german",
        "in diesem Projekt Kommentare bitte auf Englisch",
        "dans ce projet, les commentaires en anglais s'il te plaît",
        "en este repo los comentarios en inglés, por favor",
    ],
)
def test_what_perhaps_lasts_is_proposed(said: str):
    (found,) = extract_candidates([person(said)])
    assert not found.outright


@pytest.mark.parametrize(
    "said",
    [
        "don't touch the expected value",
        "don't run tests yet",
        "don't change anything else",
        "don't worry",
        "it's broken, don't know why",
        "if it fails, don't commit secrets",
        "could you please check the test?",
        "would you say we should use X from now on?",
        "can you tell me what happens in the future?",
        "don't spend more than 5 minutes on it",
        "please commit this in small steps",
        "no tienes razón",
        "keine Tests gefunden",
        "ne touche pas à ce fichier",
        "the boss would kill me",
    ],
)
def test_an_order_for_the_moment_is_no_prohibition(said: str):
    assert not extract_candidates([person(said)])


@pytest.mark.parametrize(
    "words",
    [
        "drop the old backup files from the repo, they are huge",
        "scrap the backup button in the settings page",
        "forget the backup docs for now",
        "cancel the backup job that is running now",
        "drop this backup file",
        "drop it from the backup list",
        "cancel the backup plan in the calendar",
        "scrap that, maybe",
        "forget it, for now",
        "Vergiss das Backup nicht",
        "laisse ça sur le serveur de backup",
        "mejor no tocar el backup",
    ],
)
def test_a_task_or_doubt_retracts_nothing(words: str):
    found = extract_candidates([person(DECIDED, 0), assistant("Noted.", 1), person(words, 2)])
    assert found[0].text == DECIDED and not any(one.instead_of for one in found)


@pytest.mark.parametrize(
    "words",
    [
        "scrap the decision about the backup",
        "forget the rule about the backup, please",
        "streich die Regel zum Backup",
        "oublie la règle sur le backup",
        "olvida la decisión sobre el backup",
        "vergiss, was ich über das Backup gesagt habe",
    ],
)
def test_a_decision_is_retracted_by_name(words: str):
    (found,) = extract_candidates([person(DECIDED, 0), assistant("Noted.", 1), person("thanks", 2), person(words, 3)])
    assert found.text.startswith(f"No longer: {DECIDED}")
