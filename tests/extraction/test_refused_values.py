"""A person refuses a value of an earlier session's note, which is then replaced or contested."""

from __future__ import annotations

import pytest

from mcp_memory.models import NoteState
from tests.extraction.talks import assistant, ingest, person
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, paths, records

pytestmark = pytest.mark.anyio

REPLACED, CONTESTED, ACTIVE = "replaced", "contested", "active"
REFUSED = [
    ("The batch limit is 600 rows.", "", "no, the limit is 620 now, not 600", REPLACED),
    ("Each parcel may weigh up to 30 kg.", "", "not 30 kg, 25 kg per parcel", REPLACED),
    ("A table is held for 20 minutes.", "", "20 minutes was wrong, tables are held for 25 minutes", REPLACED),
    ("Drivers must rest for 45 minutes.", "The drivers rest 45 minutes.", "no, 60 minutes, not 45", REPLACED),
    ("Die Losgröße ist höchstens 600 Stück.", "", "die Losgröße ist jetzt 620 Stück, nicht 600", REPLACED),
    ("La limite du lot est de 600 lignes.", "", "non, la limite est de 620 maintenant, pas 600", REPLACED),
    ("El límite del lote es de 600 filas.", "", "no, el límite es 620 ahora, no 600", REPLACED),
    ("Search answers have to come within 150 ms.", "", "400 ms, not 150", CONTESTED),
    ("Suchantworten müssen in 150 ms da sein.", "", "400 ms, nicht 150", CONTESTED),
    ("Les réponses doivent arriver en 150 ms.", "", "400 ms, pas 150", CONTESTED),
    ("Las respuestas tienen que llegar en 150 ms.", "", "400 ms, no 150", CONTESTED),
    ("Quotes stay valid for 45 days.", "The quote says 45 days.", "30 days instead of 45", CONTESTED),
    ("Marketing wants the export every 30 minutes.", "", "Marketing changed its mind, 15 minutes.", CONTESTED),
    ("Das Marketing will den Export alle 30 Minuten.", "", "Das Marketing hat es sich anders überlegt, 15 Minuten.",
     CONTESTED),
    ("Le marketing veut l'export toutes les 30 minutes.", "", "Le marketing a changé d'avis, 15 minutes.", CONTESTED),
    ("Marketing quiere la exportación cada 30 minutos.", "", "Marketing ha cambiado de idea, 15 minutos.", CONTESTED),
]  # fmt: skip
KEPT = [
    ("Search answers have to come within 150 ms.", "", "Is it 400 ms, not 150?", ACTIVE),
    ("Search answers have to come within 150 ms.", "", 'Tom wrote: "400 ms, not 150".', ACTIVE),
    ("Search answers have to come within 150 ms.", "", "With Redis it would be 400 ms, not 150.", ACTIVE),
    ("Search answers have to come within 150 ms.", "", "The build took 400 seconds, not 150.", ACTIVE),
    ("Search answers have to come within 150 ms.", "The menu opens after 150 ms.", "400 ms, not 150", ACTIVE),
    ("The gateway listens on port 8087.", "", "the timeout is 9000 ms, not 8087 ms", ACTIVE),
    ("The order cutoff is 18:00.", "", "lunch is at 12:30, not 18:00", ACTIVE),
    ("The batch limit is 600 rows.", "", "the speed limit is 620 now, not 600", ACTIVE),
    ("Sprint 14 ends on Friday.", "", "I meant sprint 15, not 14", ACTIVE),
    ("Quotes stay valid for 45 days.", "", "For Acme it's 30 days instead of 45.", ACTIVE),
    ("Marketing wants the export every 30 minutes.", "", "Sales changed its mind, 15 minutes.", ACTIVE),
    ("Angebote gelten 45 Tage.", "", "Der Urlaub dauert 30 Tage, nicht 45", ACTIVE),
    ("Fahrer ruhen 45 Minuten.", "", "diesmal 60 Minuten, nicht 45", ACTIVE),
    ("Un devis reste valable 45 jours.", "", "peut-être 30 jours, pas 45", ACTIVE),
    ("Un paquete pesa como máximo 30 kg.", "", "si llueve, 25 kg, no 30 kg", ACTIVE),
]


async def state_after(engine: KeywordEngine, world: World, note: str, turn: str, words: str, project: str) -> str:
    old = (await engine.append(note, kind="decision", project=project)).id
    world.later(days=1)
    talk = [person("Show me.", 0, world.now), assistant(turn, 40), person(words, 90, world.now)][0 if turn else 2 :]
    await ingest(engine, f"{project}.jsonl", "claude-code", project, talk, project)
    found = records(engine)
    if any(one.superseded_by for one in found if one.id == old):
        return REPLACED
    return CONTESTED if any(old in one.meta.get("contests", ()) for one in found) else ACTIVE


async def test_a_refused_value_replaces_or_contests_the_one_note_that_states_it(world: World):
    wanted = [*REFUSED, *KEPT]
    async with world.engine() as engine:
        states = [await state_after(engine, world, *one[:3], f"p{at}") for at, one in enumerate(wanted)]
    assert [(*one[:3], state) for one, state in zip(wanted, states, strict=True)] == wanted


async def test_a_value_of_two_notes_is_refused_in_neither(world: World):
    async with world.engine() as engine:
        other = (await engine.append("The tooltip shows after 150 ms.", kind="decision", project="shop")).id
        note, words = "Search answers have to come within 150 ms.", "400 ms, not 150"
        assert await state_after(engine, world, note, "", words, "shop") == ACTIVE
        assert not any(other in one.meta.get("contests", ()) for one in records(engine))


async def test_the_new_value_is_told_in_the_words_of_the_note(world: World):
    async with world.engine() as engine:
        note = "Search answers have to come within 150 ms."
        assert await state_after(engine, world, note, "", "400 ms, not 150", "shop") == CONTESTED
        (proposal,) = paths(engine, NoteState.INBOX)
        assert b"Search answers have to come within 400 ms.\n\n> 400 ms, not 150" in world.read(proposal)
        assert "150 ms" not in (await engine.brief("start", project="shop")).text
        (item,) = await engine.inbox()
        await engine.review("drop", item.id)
        assert "150 ms" in (await engine.brief("next", project="shop")).text
