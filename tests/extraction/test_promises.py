"""What agents promise in their own words, in four languages. The 20th of November 2026, when they do, is a Friday."""

from __future__ import annotations

import pytest

from mcp_memory.models import NoteState
from mcp_memory.statements.candidate import StatementKind
from mcp_memory.statements.extractor import extract_candidates
from tests.extraction.talks import assistant, person, take
from tests.support.briefings import begun
from tests.support.world import World, paths

pytestmark = pytest.mark.anyio

PROMISES = {
    "I will send the slides tomorrow.": "2026-11-21",
    "I'll rerun the load test on Wednesday and report the numbers to you.": "2026-11-25",
    "All green, and I'll follow up with the vendor next week.": "2026-11-23",
    "I'll have the draft ready before the release on December 3.": "2026-12-03",
    "I'll place the sugar order by Wednesday.": "2026-11-25",
    "I'll compare them and get back to you on Wednesday at 4 pm.": "2026-11-25T16:00:00+00:00",
    "Ich trage die Beschlüsse bis Mittwoch nach.": "2026-11-25",
    "Ich schicke dir den Bericht morgen um 15 Uhr.": "2026-11-21T15:00:00+00:00",
    "Am Montag lasse ich den Probelauf noch einmal laufen.": "2026-11-23",
    "Ich werde dir die Zahlen bis Dienstag schicken.": "2026-11-24",
    "Je t'enverrai le compte rendu demain.": "2026-11-21",
    "Je vais relancer Luc vendredi.": "2026-11-27",
    "D'accord, je rappelle le fournisseur lundi.": "2026-11-23",
    "Te enviaré el informe mañana.": "2026-11-21",
    "Voy a repetir la prueba de carga el jueves.": "2026-11-26",
    "El martes reviso los registros y te aviso.": "2026-11-24",
}
OTHERS = (
    "I'll now run the tests.", "I'll send the mail today.", "I'll set the deadline to 2026-12-10.",
    "I'll tell Bo that the demo is on Friday.", "I'll fix the Friday job.", "If they pass, I'll deploy on Friday.",
    "Shall I send it tomorrow?", "I could send it tomorrow.", 'You said: "I will send the slides tomorrow."',
    "Petra will send the slides tomorrow.", "I'll use Friday as the cutoff.",
    "Ich nehme den Stand von Freitag.", "I'll write the tests for the November 30 release.",
    "Ich merke mir, dass die Vorführung am Freitag ist.", "Ich schreibe den 10. Dezember in den Plan.",
    "Soll ich den Bericht morgen schicken?", "Je note que la réunion est vendredi.",
    "Dois-je envoyer le rapport demain ?", "Anoto que la reunión es el viernes.", "¿Te envío el informe mañana?",
)  # fmt: skip


async def test_what_an_agent_promises_for_a_later_day_is_its_commitment(world: World) -> None:
    async with world.engine() as engine:
        await take(engine, [assistant(text, number) for number, text in enumerate((*PROMISES, *OTHERS))])
        found = (await engine.perform("due", {}))["commitments"]
        assert {one["title"]: one["due"] for one in found} == PROMISES
        assert {one["owner"] for one in found} == {"claude-code"} and not paths(engine, NoteState.INBOX)
        assert "(promised by claude-code)" in await begun(engine, "later")


CONFIRMED = {
    "Remind me on Friday to call Bo.": "I'll remind you on Friday to call Bo.",
    "Erinnere mich am Freitag daran, Bo anzurufen.": "Ich erinnere dich am Freitag daran, Bo anzurufen.",
    "Rappelle-moi vendredi d'appeler Luc.": "Je te rappellerai vendredi d'appeler Luc.",
    "Recuérdame el viernes que llame a Ana.": "Te recordaré el viernes que llames a Ana.",
}


@pytest.mark.parametrize("asked", CONFIRMED)
async def test_a_reminder_that_the_agent_confirms_is_listed_once(world: World, asked: str) -> None:
    async with world.engine() as engine:
        another = assistant("I'll send the slides to Petra on Monday.", 2)
        await take(engine, [person(asked, 0), assistant(CONFIRMED[asked], 1), another])
        found = (await engine.perform("due", {}))["commitments"]
        assert [one["title"] for one in found] == ["I'll send the slides to Petra on Monday.", asked]


def test_a_promise_without_a_time_waits() -> None:
    (found,) = extract_candidates([assistant("I will send the migration plan to Bo by Wednesday.", at=None)])
    assert found.kind is StatementKind.COMMITMENT and not found.outright


async def test_thanks_for_a_promise_make_it_no_decision_of_the_person(world: World) -> None:
    async with world.engine() as engine:
        await take(engine, [assistant("I will send the slides tomorrow."), person("Perfect, thanks.", 9)])
        assert [path.split("/")[1] for path in paths(engine)] == ["commitment"]
        assert not paths(engine, NoteState.INBOX)


async def test_a_promise_for_another_day_replaces_only_the_agents_own(world: World) -> None:
    async with world.engine() as engine:
        await take(engine, [person("I'll send Petra the numbers by Thursday.")])
        for day in ("Monday", "Tuesday"):
            await take(engine, [assistant(f"I'll send Petra the numbers by {day}.", at=world.now)], day)
            world.later(minutes=5)
        due = (await engine.perform("due", {}))["commitments"]
        assert [(one["owner"], one["due"]) for one in due] == [("claude-code", "2026-11-24"), ("you", "2026-11-26")]
