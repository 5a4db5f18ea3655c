"""What a reader asks for with the person's words is stored, or waits with a reason, or is refused visibly."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_memory.models import NoteState
from tests.capture.written import line
from tests.extraction.session_reader import PARCELS, body, finish, made, reader
from tests.support.sessions import Sessions
from tests.support.world import World, records

pytestmark = pytest.mark.anyio


@pytest.fixture
def sessions(world: World) -> Sessions:
    return Sessions(world)


def talk(*said: str) -> bytes:
    """A session in which the person begins."""
    roles = ("user", "assistant")
    return b"".join(line(number + 1, text, role=roles[number % 2]) for number, text in enumerate([*said, "ok"]))


@pytest.mark.parametrize(
    ("kind", "texts", "quote"),
    [
        (
            "commitment",
            ("Send Hanna the sample on Wednesday.", "Send Hanna the sample on Thursday."),
            "checked and sent the sample at 8:05, tick that off",
        ),
        (
            "decision",
            ("The backtest window is 60 weeks.", "The backtest window is 52 weeks."),
            "the 52 week window is history, there's no backtest window any more",
        ),
    ],
)
async def test_an_end_closes_the_whole_chain(
    sessions: Sessions, kind: str, texts: tuple[str, str], quote: str, world: World
):
    due = ["2026-11-21", "2026-11-22"] if kind == "commitment" else [None, None]
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append(texts[0], kind=kind, project="app", due=due[0])
            new = await engine.append(texts[1], kind=kind, project="app", supersedes=old.id, due=due[1])
            model.say({"do": "end", "of": new.id[-6:], "quote": quote})
            await finish(sessions, engine, talk(f"{quote}."))
            assert {old.id, new.id} & {one.id for one in made(engine)} == set()
            (ended,) = [one for one in records(engine) if one.id == new.id]
            assert ("done_at" in ended.meta) is (kind == "commitment")
            start = await engine.brief("claude-code/s-2", project="app")
            assert texts[0] not in start.text and texts[1] not in start.text


async def test_the_end_of_what_held_for_a_time_lets_the_older_note_count_again(sessions: Sessions):
    quote = "the freeze of the shop is over"
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("The shop deploys on Mondays.", kind="decision", project="app")
            new = await engine.append(
                "The shop has a freeze.", kind="decision", project="app", supersedes=old.id, expires="2026-12-03"
            )
            model.say({"do": "end", "of": new.id[-6:], "quote": quote})
            await finish(sessions, engine, talk(f"{quote}."))
            assert old.id in [one.id for one in made(engine)] and new.id not in [one.id for one in made(engine)]


MAIL = "Mail from our category manager, just so you have it:\n\n> Hi, for the December run the forecasts have to be \
in SAP by 05:30 every day, not 06:30, since the trucks leave earlier. Also please exclude the shops 114 and 131. Best, \
Hanna\n\n"
SAP = "For the December run the forecasts have to be in SAP by 05:30 every day (06:30 before)."
SAP_QUOTE = "for the December run the forecasts have to be in SAP by 05:30 every day, not 06:30"
SHOPS = "Please exclude the shops 114 and 131 from the December run."


@pytest.mark.parametrize(
    ("said", "note", "state"),
    [
        ("05:30 is fine by me, I'll do it.", (SAP, SAP_QUOTE, "05:30 is fine by me, I'll do it."), NoteState.ACTIVE),
        ("05:30 passt mir, mach ich.", (SAP, SAP_QUOTE, "05:30 passt mir, mach ich."), NoteState.ACTIVE),
        ("05:30 nous convient.", (SAP, SAP_QUOTE, "05:30 nous convient"), NoteState.ACTIVE),
        ("a las 05:30 me parece bien.", (SAP, SAP_QUOTE, "a las 05:30 me parece bien"), NoteState.ACTIVE),
        ("do what she says about SAP.", (SAP, SAP_QUOTE, "do what she says about SAP"), NoteState.ACTIVE),
        (
            "05:30 is fine by me.",
            (SHOPS, "please exclude the shops 114 and 131", "05:30 is fine by me."),
            NoteState.INBOX,
        ),
        ("05:30 isn't fine by me.", (SAP, SAP_QUOTE, "05:30 isn't fine by me."), None),
        (
            "The shop thing I need to check with ops, don't exclude anything yet.",
            (
                "The shops 114 and 131 are not excluded yet: that needs a check with ops.",
                "The shop thing I need to check with ops, don't exclude anything yet",
                "",
            ),
            NoteState.INBOX,
        ),
    ],
)  # fmt: skip
async def test_a_mail_counts_as_far_as_the_person_takes_it_up(
    sessions: Sessions, said: str, note: tuple[str, str, str], state: NoteState | None
):
    text, quote, agreed = note
    with reader() as model:
        model.say({**PARCELS, "text": text, "quote": quote, "agreed": agreed})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, talk(MAIL + said))
            assert [one.state for one in records(engine) if one.title[:40] == text[:40]] == ([state] if state else [])


THREADS = "The code says 24 threads, but the Makefile has 16; I take it that 24 is what you agreed on. Shall I fix it?"


@pytest.mark.parametrize("of", [True, False])
async def test_a_value_agreed_to_replaces_that_of_the_note_and_else_waits(sessions: Sessions, world: World, of: bool):
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("The training uses 16 threads.", kind="decision", project="app")
            text = "The training uses 24 threads."
            said = {**PARCELS, "text": text, "quote": "I take it that 24 is what you agreed on",
                    "agreed": "yes 24 and yes fix it."}  # fmt: skip
            model.say({**said, "do": "replace", "of": old.id[-6:]} if of else said)
            await finish(sessions, engine, talk("start the training", THREADS, "yes 24 and yes fix it."))
            (note,) = [one for one in records(engine) if one.title == text]
            assert note.state is (NoteState.ACTIVE if of else NoteState.INBOX)
            assert (old.id in [one.id for one in made(engine)]) is not of
            assert "yes 24 and yes fix it." in body(world, note)
            if not of:
                (item,) = [one for one in await engine.inbox() if one.title == text]
                assert item.why == "it says more than the quoted words"


async def test_a_waiting_note_shows_the_persons_answer(sessions: Sessions, world: World):
    text = "The sample goes to Hanna on Thursday."
    with reader() as model:
        model.say({**PARCELS, "text": text, "quote": "can I get the sample on Thursday?", "agreed": "PDF then"})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, talk("Hanna asks: can I get the sample on Thursday?", "Hm.", "PDF then"))
            (note,) = [one for one in made(engine, NoteState.INBOX) if one.title == text]
            assert body(world, note).endswith("> can I get the sample on Thursday? (PDF then)")


async def test_what_rules_noted_stays_if_the_readers_words_for_it_are_refused(sessions: Sessions):
    said = "I think we should go with DuckDB for the shelves."
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            file = await sessions.capture(engine, talk(said, "Never push to main, ok?", "I think it's late."))
            waiting = {one.title: one for one in made(engine, NoteState.INBOX)}
            (proposal,) = [one for title, one in waiting.items() if "DuckDB" in title]
            text = "The 40 shelves of the shop go with DuckDB."
            model.say({**PARCELS, "text": text, "quote": said}, wrong=[proposal.id[-6:]])
            await engine.perform("emptied", {"session": "claude-code/s-1", "transcript": file})
            report = await engine.run_job("reading")
            assert [one.id for one in made(engine, NoteState.INBOX)] == [proposal.id]
            assert report["about"].endswith("0 notes stored, 1 refused: not said, or too many for review")


@pytest.mark.parametrize(
    ("text", "is_contested"),
    [
        ("Delivered parcels are kept for 90 days, and for the whole shop.", False),
        ("Delivered parcels are kept for 180 days (90 until now).", True),
        ("Delivered parcels are never kept for 90 days.", True),
    ],
)
async def test_only_another_value_or_a_denial_contests_a_note(sessions: Sessions, text: str, is_contested: bool):
    quote = "parcels that were delivered are kept for 180 days, not 90, never 90 days, for the whole shop"
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("Delivered parcels are kept for 90 days.", kind="decision", project="app")
            model.say({**PARCELS, "do": "propose", "of": old.id[-6:], "text": text, "quote": quote})
            await finish(sessions, engine, talk(f"{quote}, right?"))
            (item,) = [one for one in await engine.inbox() if one.title == text]
            assert old.id in str(item.notes), "review offers to replace it"
            (hit,) = [one for one in (await engine.search("delivered parcels kept")).hits if one.id == old.id]
            assert ("perhaps outdated: " in str(hit)) is is_contested


async def test_what_replaces_a_waiting_note_replaces_what_that_note_would_have(sessions: Sessions):
    first = {**PARCELS, "do": "propose", "text": "The sample of the shop is an Excel file with 17 tabs.",
             "quote": "the sample of the shop, an Excel file with 17 tabs?"}  # fmt: skip
    then = {**PARCELS, "do": "replace", "text": "The sample of the shop is a PDF with 17 pages.",
            "quote": "the sample of the shop is a PDF with 17 pages"}  # fmt: skip
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("The sample of the shop is an Excel file.", kind="decision", project="app")
            model.say({**first, "of": old.id[-6:]})
            await finish(sessions, engine, talk(str(first["quote"])))
            (waits,) = [one for one in made(engine, NoteState.INBOX) if one.title == first["text"]]
            model.say({**then, "of": waits.id[-6:]})
            await finish(sessions, engine, talk(f"{then['quote']}."), "s-2")
            assert [one.title for one in made(engine)] == [then["text"]]
            (older,) = [one for one in records(engine) if one.id == old.id]
            assert older.superseded_by and waits.id not in [one.id for one in made(engine, NoteState.INBOX)]


async def test_a_rule_for_all_projects_replaces_that_of_one(sessions: Sessions):
    quote = "parcels are kept for 180 days in all our shops, always"
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("Delivered parcels are kept for 90 days.", kind="decision", project="app")
            text = "Parcels are kept for 180 days in all shops, always."
            model.say({**PARCELS, "do": "replace", "of": old.id[-6:], "text": text, "quote": quote, "everywhere": True})
            await finish(sessions, engine, talk(quote))
            (note,) = [one for one in made(engine) if one.title == text]
            assert note.project is None and old.id not in [one.id for one in made(engine)]


CERTAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "go back to 52 weeks, easter or not - I'll do a separate easter check once.": (
        "The window is 52 weeks, and a separate Easter check is done once.", {}),
    "I looked at polars, 1.12 is fine. bump polars to 1.12.0. and how many threads does train use?": (
        "Polars may be 1.12.", {"quote": "I looked at polars, 1.12 is fine. bump polars to 1.12.0."}),
    "pip needs our internal index: pip install --index-url https://pypi.shop.internal/simple.": (
        'pip needs the internal index https://pypi.shop.internal/simple (otherwise "No matching distribution").', {}),
    "lightgbm is 4.5 now, bump it from 4.3.0": (
        "lightgbm is 4.5 now (4.3.0 until 22 November 2026).", {}),
}  # fmt: skip


@pytest.mark.parametrize("message", CERTAIN)
async def test_what_the_person_says_is_understood_as_said(sessions: Sessions, message: str):
    text, more = CERTAIN[message]
    with reader() as model:
        model.say({**PARCELS, "text": text, "quote": message, **more})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, talk(message))
            assert text[1:30] in [one.title[1:30] for one in made(engine)]


async def test_a_readers_statement_replaces_the_rules_copy_of_its_words(sessions: Sessions, world: World):
    said = "From now on we never restart the label printer before noon, since the depot prints till then."
    worded = "In app the label printer isn't restarted in the morning: the depot prints until noon."
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            talked = talk(said)
            await sessions.capture(engine, talked)
            assert len(made(engine)) == 1
            model.say({"do": "store", "kind": "decision", "text": worded, "quote": said})
            await finish(sessions, engine, talked)
            assert [body(world, one).partition("\n")[0] for one in made(engine)] == [worded]


async def test_what_the_rules_copy_has_replaced_stays_replaced(sessions: Sessions):
    said = "No, delivered parcels are kept for 180 days now, not 90, legal asked for it."
    worded = "Delivered parcels are kept for 180 days, because legal asked for it (90 before)."
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("Delivered parcels are kept for 90 days.", kind="decision", project="app")
            talked = talk(said)
            await sessions.capture(engine, talked)
            (copy,) = made(engine)
            assert copy.supersedes == (old.id,)
            model.say({"do": "replace", "of": copy.id[-6:], "kind": "decision", "text": worded, "quote": said})
            await finish(sessions, engine, talked)
            (kept,) = made(engine)
            assert kept.id not in (old.id, copy.id)


async def test_values_with_slashes_may_be_said_one_by_one(sessions: Sessions, world: World):
    said = "the retry limits: A10 and A90 become A05 and A95"
    text = "app retries failed tasks with the limits A05/A50/A95 (A10/A50/A90 before)."
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            old = await engine.append("app retries failed tasks with the limits A10/A50/A90.", project="app")
            model.say({"do": "replace", "of": old.id[-6:], "kind": "decision", "text": text, "quote": said})
            await finish(sessions, engine, talk(f"{said}."))
            assert [body(world, one).partition("\n")[0] for one in made(engine)] == [text]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Léa présente le rapport mardi, il me faut les chiffres lundi",
         "Il faut les chiffres lundi 23 novembre 2026, car Léa présente le rapport mardi 24."),
        ("Bea zeigt den Bericht am Dienstag, ich brauche die Zahlen am Montag",
         "Die Zahlen braucht Ada am Montag, den 23., weil Bea den Bericht am Dienstag, 24., zeigt."),
        ("el informe lo presenta Amparo este martes, le dejo los pagos el lunes",
         "Ada deja los pagos el lunes 23 de noviembre de 2026, porque Amparo presenta el informe el martes 24."),
        ("Anna presents the report on Tuesday, so I need the figures on Monday",
         "The figures are needed on Monday 23, since Anna presents the report on Tuesday the 24th."),
        ("Anna presents the report on Tuesday", "Anna presents the report on Tuesday 25."),
        ("Anna presents the report on Tuesday", "Anna presents the report on Tuesday to 24 people."),
    ],
)  # fmt: skip
async def test_a_weekday_may_have_its_day_without_the_month(sessions: Sessions, said: str, text: str):
    is_right = not text.endswith(("25.", "people."))
    with reader() as model:
        model.say({**PARCELS, "text": text, "quote": said})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, talk(f"{said}."))
            assert (text in [one.title for one in made(engine)]) is is_right


HEADS = {
    "es": ("Amparo por mail:\n\nDe: Amparo Soler\nAsunto: Navarro\n", "a Navarro ya no se le manda el resumen"),
    "en": ("From: Anna Cole <a@x.org>\nTo: Ada\nSubject: exports\n\n", "the exports go out as CSV"),
    "de": ("Bea schreibt:\n\nVon: Bea Krug\nBetreff: Post\n\n", "Rechnungen gehen als PDF an die Kunden"),
    "fr": ("De : Léa Roux\nObjet : devis\n\n", "les devis partent en PDF le lundi"),
}


@pytest.mark.parametrize(
    ("language", "answer", "state"),
    [
        ("es", "ok, haz lo que dice Amparo", NoteState.ACTIVE),
        ("en", "do it as Anna writes", NoteState.ACTIVE),
        ("de", "mach es wie Bea schreibt", NoteState.ACTIVE),
        ("fr", "fais comme dit Léa", NoteState.ACTIVE),
        ("en", "do it as Carl writes", None),
        ("en", "should we do it as Anna writes?", None),
        ("es", "no hagas lo que dice Amparo", None),
    ],
)
async def test_the_answer_below_the_heads_of_a_mail_is_the_persons(
    sessions: Sessions, language: str, answer: str, state: NoteState | None
):
    head, quote = HEADS[language]
    with reader() as model:
        model.say({**PARCELS, "text": f"{quote[0].upper()}{quote[1:]}.", "quote": quote, "agreed": answer})
        async with sessions.engine(**model.sections) as engine:
            await finish(sessions, engine, talk(f"{head}{quote}.\nBye\n\n{answer}"))
            assert [one.state for one in records(engine) if quote[1:] in one.title] == ([state] if state else [])


async def test_a_readers_statement_of_half_a_sentence_leaves_the_rules_copy(sessions: Sessions, world: World):
    half = "From now on we never restart the label printer before noon"
    said = f"{half}, and every invoice over 500 euros needs a second signature from Marta."
    with reader() as model:
        async with sessions.engine(**model.sections) as engine:
            talked = talk(said)
            await sessions.capture(engine, talked)
            (copy,) = made(engine)
            worded = "In app the label printer isn't restarted in the morning."
            model.say({"do": "store", "kind": "decision", "text": worded, "quote": half})
            await finish(sessions, engine, talked)
            assert copy.id in [one.id for one in made(engine)]
