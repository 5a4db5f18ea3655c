"""Commitments: told when they are due and not before, once a session and stage, until they are done."""

from __future__ import annotations

from datetime import UTC, timedelta
from zoneinfo import ZoneInfo

import pytest

from mcp_memory.errors import InvalidInput
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState, Passage
from mcp_memory.recall.reminders import TOLD, Commitment, Stage, commitments, reminders
from mcp_memory.search.filters import asks_for_commitments
from mcp_memory.text.dates.due import due_from
from tests.support.briefings import begun, told
from tests.support.world import World

pytestmark = pytest.mark.anyio

LIST = "Send Petra the list."


async def test_a_commitment_is_told_the_day_before_on_its_day_and_after_it(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(LIST, kind="commitment", due="2026-11-24")  # today is the 21st
        assert "Petra" not in await begun(engine, "a")
        world.later(days=2)
        assert 'Due tomorrow: "Send Petra the list.' in await begun(engine, "b")
        assert "Petra" not in await told(engine, "b", "shall we?"), "the start has told it"
        world.later(days=1)
        assert 'Due today: "Send Petra the list.' in await told(engine, "b", "shall we?")
        assert "Petra" not in await told(engine, "b", "go on")
        assert "Petra" in await begun(engine, "b"), "its context was emptied"
        world.later(days=1)
        asked = await begun(engine, "c")
        assert "Was due yesterday, ask whether it is done" in asked and "memory_forget(id, done=true)" in asked
        world.later(days=1)
        assert 'Overdue, see mcp-memory due: "Send Petra the list.' in await begun(engine, "d")
        assert "Petra" not in await told(engine, "e", "shall we?"), "only a start tells of what is long overdue"


async def test_a_long_commitment_is_told_whole_and_its_note_is_not_told_again(world: World) -> None:
    whole = "Check the sample of the forecast with the new stores, at eight in the morning, before it goes to Henrike."
    async with world.engine() as engine:
        await engine.append(f"{whole}\n\n> I check the sample", kind="commitment", due="2026-11-21")
        await engine.append(
            "Forecast samples never go out without a check, since stores complained.", kind="preference"
        )
        start = await begun(engine, "s")
        assert f'"{whole}"' in start and "without a check" in start
        assert "Henrike" not in await told(engine, "s", "when does the sample of the forecast go to Henrike?")
        assert f"{whole}" in await told(engine, "t", "what is due today?")
        (given,) = (await engine.perform("why", {"session": "s"}))["given"]
        assert [passage["path"].split("/")[1] for passage in given["passages"]] == ["preference", "commitment"]
        (listed,) = (await engine.perform("due", {}))["commitments"]
        assert listed["title"] == whole


async def test_at_its_hour_a_prompt_tells_it_and_after_a_sleep_the_next_one_does(world: World) -> None:
    async with world.engine() as engine:  # at noon
        await engine.append("Call Bo.", kind="commitment", due="2026-11-21T15:00+00:00")
        assert "Due today, 15:00" in await begun(engine, "s")
        world.later(hours=2, minutes=59)
        assert await told(engine, "s", "go on") == ""
        world.later(minutes=90)
        assert "Due now, 15:00" in await told(engine, "s", "go on")
        assert await told(engine, "s", "go on") == ""
        world.later(hours=-3)  # the clock was put back
        assert await told(engine, "s", "go on") == ""
        world.later(days=1)
        assert "Was due yesterday" in await told(engine, "s", "go on")


async def test_what_is_overdue_is_one_line(world: World) -> None:
    async with world.engine() as engine:
        for number in range(9):
            await engine.append(f"Pay bill {number}.", kind="commitment", due=f"2026-11-0{number + 1}")
        lines = [line for line in (await begun(engine)).splitlines() if "Pay bill" in line]
        assert len(lines) == 1 and "and 6 more" in lines[0] and "since 2026-11-09" in lines[0]


async def test_done_ends_it_and_restore_takes_that_back(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append(LIST, kind="commitment", due="2026-11-21")
        before = world.read(note.path)
        await engine.forget(note.id, done=True)
        assert b"done_at: 2026-11-21" in world.read(note.path) and b"status: archived" in world.read(note.path)
        assert "Petra" not in await begun(engine)
        (kept,) = (await engine.perform("due", {"done": True}))["commitments"]
        assert kept["stage"] == "done" and kept["done_at"].startswith("2026-11-21")
        assert (await engine.perform("due", {}))["commitments"] == []
        await engine.forget(note.id, restore=True)
        assert world.read(note.path) == before and "Petra" in await begun(engine)


async def test_the_day_comes_from_the_words_unless_it_is_passed(world: World) -> None:
    async with world.engine() as engine:  # a Saturday
        for text, more, due in (
            ("I promised Petra the list for Thursday.", {}, b"due: 2026-11-26\n"),
            ("Ruf morgen um 9 Bo an.", {}, b"due: 2026-11-22T09:00:00"),
            ("Call Ada.", {"expires": "2026-11-30"}, b"due: 2026-11-30\n"),
            ("Call Eva on Friday.", {"due": "2026-12-01", "expires": "2026-12-05"}, b"due: 2026-12-01\n"),
        ):
            path = (await engine.append(text, kind="commitment", **more)).path
            assert due in world.read(path)
            assert (b"expires_at" in world.read(path)) is (len(more) == 2)
        assert b"due" not in world.read((await engine.append("Ask Ida about Friday.", kind="fact")).path)
        with pytest.raises(InvalidInput, match="due"):
            await engine.append("Call Uwe.", kind="commitment", due="some day")


async def test_a_search_finds_commitments(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(LIST, kind="commitment", due="2026-11-24")
        find = engine.search
        for asked in (
            find("Petra list"),
            find("Petra list", kinds=["commitment"]),
            find("what did I promise Petra"),
            find("was habe ich Petra versprochen"),
            find("Petra list", include_archived=True),
            find("Petra list", path="notes/commitment"),
        ):
            assert [hit.kind for hit in (await asked).hits] == ["commitment"]


async def test_a_project_and_a_channel_hear_of_their_own(world: World) -> None:
    async with world.engine() as engine:
        for project in ("mill", "channel:telegram:7", None):
            await engine.append(f"Bake for {project}.", kind="commitment", due="2026-11-21", project=project)
        heard = {
            project: await begun(engine, f"s{project}", project) for project in ("mill", "weir", "channel:telegram:7")
        }
        assert "for mill" in heard["mill"] and "for None" in heard["mill"] and "telegram" not in heard["mill"]
        assert "for mill" not in heard["weir"] and "for None" in heard["weir"]
        assert "telegram:7" in heard["channel:telegram:7"] and "for None" not in heard["channel:telegram:7"]


class _Index:
    def __init__(self, *dues: str) -> None:
        self.dues = dues

    def notes(self, _: Filters) -> list[NoteRecord]:
        record = NoteRecord(NotePath("n.md"), NoteId("n"), "", "", "Turn the clocks", "commitment", NoteState.ACTIVE)
        return [
            NoteRecord(**{**{name: getattr(record, name) for name in record.__slots__}, "meta": {"due": due}})
            for due in self.dues
        ]

    def passages(self, _: NotePath) -> list[Passage]:
        return []


@pytest.mark.parametrize("due", ["2026-10-25", "2026-10-25T02:30:00+01:00", "2026-03-29T02:30:00+01:00", "2026-03-29"])
def test_on_the_day_on_which_clocks_change_each_stage_is_told_once(due: str) -> None:
    zone, seen, stages = ZoneInfo("Europe/Berlin"), set[str](), list[Stage]()
    now = due_from(due, zone).moment(zone).astimezone(UTC) - timedelta(days=3)
    for _ in range(4 * 24 * 6):
        now += timedelta(minutes=15)
        found: list[Commitment] = commitments(_Index(due), Filters(), now, zone)
        for one in reminders(found, TOLD, "s", frozenset(seen)):
            seen.update(one.marks)
            stages.append(found[0].stage)
    at = ["due now"] if "T" in due else []
    assert stages == ["due tomorrow", "due today", *at, "was due yesterday", "overdue"]


@pytest.mark.parametrize(
    "question",
    ["what have I promised?", "commitments", "What must I do by Tuesday?", "what do we still have to do", "any to-dos?",
     "Was habe ich noch versprochen?", "was muss ich diese Woche erledigen?", "what is due or overdue this week",
     "is there anything i wanted to do today?", "was wollte ich heute noch machen?",
     "engagements et échéances de la semaine", "what's on my plate this week", "was steht diese Woche an?",
     "qué tengo pendiente", "J'ai quoi au programme cette semaine ?", "¿Qué tengo esta semana?"],
)  # fmt: skip
async def test_who_asks_for_commitments_gets_all_of_them_and_nothing_else(world: World, question: str) -> None:
    async with world.engine() as engine:
        assert "due" not in (await engine.recall(question)).partition("instructions")[2], "there is none"
        await engine.append("We promised ourselves to deploy on Tuesdays.", kind="decision", project="shop")
        await engine.append("Renew the domain.", kind="commitment", due="2026-12-22 09:30", project="shop")
        await engine.append(LIST, kind="commitment", due="2026-11-24")
        lines = (await engine.recall(question)).splitlines()[1:-1]
        assert [line.partition(": ")[0] for line in lines] == ["Tue 2026-11-24 (later)", "Tue 2026-12-22 09:30 (later)"]
        assert "Renew" not in await engine.recall(question, project="mill")


@pytest.mark.parametrize(
    "question",
    ["what did I promise Heike?", "when is the release due", "remind me what we decided about Kafka",
     "what do I have to do to deploy", "what is on the agenda page", "was steht in der Datei an erster Stelle",
     "le programme de la semaine du Nord", "engagement of the week", "qué hay en la agenda de Noé", "who owes me money",
     "was muss ich für das Deployment machen"],
)  # fmt: skip
def test_a_question_about_something_asks_for_more_than_commitments(question: str) -> None:
    assert not asks_for_commitments(question)
    assert not asks_for_commitments("muss ich " * 100), "what is pasted is no question"


@pytest.mark.parametrize(
    ("prompt", "due"),
    [
        ("Lovely. Before I go: what have I got due next month?", "list domain"),
        ("hi, what's still open for me here?", "list domain"),
        ("Was ist bei mir noch offen?", "list domain"),
        ("qu'est-ce qui me reste à faire ?", "list domain"),
        ("¿Qué queda por hacer?", "list domain"),
        ("what did i promise petra's team and for when", "list"),
        ("Gut. Was habe ich Petra eigentlich zugesagt?", "list"),
        ("was muss ich diese Woche noch erledigen, ich glaub ich vergess was", "list domain"),
        ("qu'est ce que j'ai promis pour la fin du mois moi", "list domain"),
        ("¿qué tengo pendiente para el viernes?", "list domain"),
        ("anything due today?", "list domain"),
        ("Bonjour ! J'ai quoi au programme cette semaine ?", "list domain"),
        ("Hi! What's on my plate this week?", "list domain"),
        ("Moin, was steht diese Woche an?", "list domain"),
        ("qu'est-ce que je dois faire ce matin ?", "list domain"),
        ("Hola, ¿qué tengo en la agenda hoy?", "list domain"),
        ("what is planned for the schedule page?", ""),
        ("was steht in der README an Befehlen?", ""),
        ("I promised Bo the report by Friday.", ""),
        ("how do I compute the due date in the invoice?", ""),
        ("does a promise resolve before I await it?", ""),
        ("is the test that I wrote red due to the clock?", ""),
    ],
)
async def test_a_prompt_that_asks_what_is_due_gets_it_each_time(world: World, prompt: str, due: str) -> None:
    async with world.engine() as engine:
        await engine.append("Renew the domain.", kind="commitment", due="2026-12-22 09:30")
        await engine.append(LIST, kind="commitment", due="2026-12-24")
        for _ in range(2):
            lines = [line for line in (await told(engine, "s", prompt)).splitlines() if line[:3] in {"Tue", "Thu"}]
            assert " ".join(word for word in ("list", "domain") if any(word in line for line in lines)) == due
            assert len(lines) == len(due.split()), "a line for each, with each such prompt"


async def test_outside_of_all_projects_only_what_has_none_is_told(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(LIST, kind="commitment", due="2026-11-22", project="mill")
        await engine.append("Call the yard.", kind="commitment", due="2026-11-22")
        elsewhere = await begun(engine, "a", project=None)
        assert "yard" in elsewhere and "Petra" not in elsewhere
        assert "Petra" in await begun(engine, "b", project="mill")
        world.later(days=1)
        asked = await told(engine, "c", "shall we?", project=None)
        assert "yard" in asked and "Petra" not in asked
        heartbeat = (await engine.brief("openclaw/d", due=True)).text
        assert "yard" in heartbeat and "Petra" not in heartbeat


@pytest.mark.parametrize(
    ("duties", "asked"),
    [
        (["Für Petra die Rechnung schicken.", "Beim Zahnarzt für den Termin anrufen."], "was ist für Petra fällig?"),
        (
            ["Envoyer la facture pour Chloé.", "Appeler le dentiste pour le rendez-vous."],
            "j'ai promis quoi pour Chloé ?",
        ),
        (["Enviar la factura para Marta.", "Llamar al dentista para la cita."], "¿qué le prometí para Marta?"),
    ],
)
async def test_a_question_about_what_is_due_is_about_what_it_names(world: World, duties: list[str], asked: str):
    async with world.engine() as engine:
        for duty in duties:
            await engine.append(duty, kind="commitment", due="2026-12-05")
        shown = await told(engine, "a", asked)
        assert [duty in shown for duty in duties] == [True, False]
