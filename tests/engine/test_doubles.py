"""Notes that say the same are offered once for merging: nobody else sees it, and no word is lost."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_memory.models import NoteState, Receipt
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, records

pytestmark = pytest.mark.anyio

SAID = "From now on the bakery delivers bread to Malmö on Tuesdays."
COPY = "On Tuesdays the bakery delivers bread to Malmö."
FULLEST = f"{SAID} Petra drives the van."


async def doubles(engine: KeywordEngine) -> list[dict[str, Any]]:
    await engine.sweep()
    return await engine.waiting("double")


async def decide(engine: KeywordEngine, item: dict[str, Any], choice: str) -> None:
    note = next(one["note"] for one in item["choices"] if one["name"] == choice)
    await engine.perform("review", {"items": [item["id"]], "choice": choice, "note": note})


def active(engine: KeywordEngine) -> list[str]:
    return sorted(note.id for note in records(engine) if note.state is NoteState.ACTIVE)


@pytest.mark.parametrize(("one", "other"), [
    (SAID, COPY),
    ("Ab sofort liefert die Bäckerei dienstags nach Malmö.", "Die Bäckerei liefert ab sofort dienstags nach Malmö."),
    ("Les livraisons partent toujours le mardi matin de Lyon.", "Les livraisons partent le mardi matin de Lyon."),
    ("Las facturas van siempre en PDF a contabilidad.", "Las facturas van en PDF a contabilidad."),
])  # fmt: skip
async def test_two_notes_become_one_whose_history_has_both(world: World, one: str, other: str) -> None:
    async with world.engine() as engine:
        first = await engine.append(one, kind="decision", project="shop", source="claude-code")
        world.later(hours=1)
        second = await engine.append(other, kind="fact", project="shop", source="cli")
        (item,) = await doubles(engine)
        kept, gone = (first, second) if len(one) > len(other) else (second, first)
        assert [(note["role"], note["id"]) for note in item["notes"]] == [("keeps", kept.id), ("supersedes", gone.id)]
        assert {note["text"] for note in item["notes"]} == {one, other}
        ends = kept.id[-6:], gone.id[-6:], kept.id[-6:]
        assert item["why"] == "say the same: keeps {}, supersedes {}; undo with mcp-memory undo {}".format(*ends)
        assert (await engine.perform("waiting", {}))["open"] == 1
        await decide(engine, item, "keep")
        assert active(engine) == [kept.id] and await doubles(engine) == []
        chain = (await engine.perform("history", {"target": kept.id}))["chain"]
        assert {note["text"].strip() for note in chain} == {one, other}
        await engine.perform("undo", {"target": kept.id, "sure": True})
        assert active(engine) == sorted([first.id, second.id]) and len(await doubles(engine)) == 1


async def test_the_fullest_of_several_stays_by_one_decision(world: World) -> None:
    async with world.engine() as engine:
        notes: list[Receipt] = []
        for text, kind in ((SAID, "fact"), (FULLEST, "fact"), (COPY, "fact"), (SAID, "decision")):
            world.later(hours=1)
            notes.append(await engine.append(text, kind=kind))
        (item,) = await doubles(engine)
        assert [note["role"] for note in item["notes"]] == ["keeps", *["supersedes"] * 3]
        await decide(engine, item, "keep")
        assert active(engine) == [notes[1].id] and await doubles(engine) == []


async def test_a_long_quotation_makes_no_note_the_fuller_one(world: World) -> None:
    world.with_home("")
    quoted = f"{SAID}\n\n> Well. I talked to them. It is agreed. The bakery is happy. We deliver as they said."
    for name, text in (("fuller", FULLEST), ("quoted", quoted)):
        world.write(f"notes/fact/{name}.md", f"---\nid: {name}\ntitle: Bakery\nkind: fact\n---\n{text}\n")
    async with world.engine() as engine:
        await engine.adopt()
        (item,) = await doubles(engine)
        await decide(engine, item, "keep")
        assert active(engine) == ["fuller"]


async def test_what_differs_for_the_person_is_not_offered_again(world: World) -> None:
    async with world.engine() as engine:
        for text in (SAID, COPY, FULLEST):
            world.later(hours=1)
            await engine.append(text, kind="fact")
        (item,) = await doubles(engine)
        await decide(engine, item, "both")
        assert len(active(engine)) == 3 and await doubles(engine) == []
        await engine.perform("reindex", {})
        assert await doubles(engine) == []


async def test_agents_see_no_mark_and_nothing_counts_as_outdated(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(SAID, kind="fact", project="shop")
        world.later(hours=1)
        new = await engine.append(COPY, kind="fact", project="shop")
        assert new.contradicts == () and len(await doubles(engine)) == 1 and await engine.conflicts() == []
        hits = (await engine.search("bakery delivers Malmö", project="shop")).hits
        assert len(hits) == 2 and [hit.outdated for hit in hits] == [None, None]
        assert "outdated" not in await engine.recall("When does the bakery deliver to Malmö?", project="shop")
        assert (await engine.perform("claim_problems", {}))["problems"] == []


@pytest.mark.parametrize(("one", "other"), [
    ("The bakery delivers to Malmö on Tuesdays.", "The bakery delivers to Malmö only on Tuesdays."),
    ("Only admins may delete billing records in the shop.", "Admins may delete only billing records in the shop."),
    ("Kunden dürfen wir nur freitags anrufen.", "Nur Kunden dürfen wir freitags anrufen."),
    ("Seul Paul peut signer les contrats du labo.", "Paul peut signer seul les contrats du labo."),
    ("Solo Paul puede firmar los contratos.", "Paul puede firmar solo los contratos."),
    ("Almost all tests of the shop fail nightly.", "All tests of the shop almost fail nightly."),
    ("Copy the backups A to B each night in Lyon.", "Copy the backups B to A each night in Lyon."),
    ("Room A in the north lab has a red key.", "Room in the north lab has a red key."),
    ("The parser allows foo* patterns in the rules.", "The parser allows foo patterns in the rules."),
    ("Use _foo as the prefix for helper names.", "Use foo as the prefix for helper names."),
    ("Set LOG_LEVEL=debug for the worker in Lyon.", "Set LOG_LEVEL=DEBUG for the worker in Lyon."),
    ("Should the parcels ship with DHL from Lyon?", "The parcels should ship with DHL from Lyon."),
    ("Run the linter before each commit.", "Run the linter before each commit on main."),
    ("Use uv instead of pip in this repository.", "Use pip instead of uv in this repository."),
    ("Deploy the shop on Fridays after lunch.", "Deploy the shop on Fridays after lunch. Not before a holiday."),
    ("The importer is written in C by Anna Berg.", "The importer is written in C++ by Anna Berg."),
    ("Freezer A is at 80 degrees in the north lab.", "Freezer A is at -80 degrees in the north lab."),
    ("Das Lager öffnet montags um 7 Uhr.", "Das Lager öffnet montags um 7 Uhr. Im Winter nur bis mittags."),
    ("Rechnungen schicken wir per Mail an Kunden.", "Rechnungen schicken wir nie per Mail an Kunden."),
    ("Le labo garde les échantillons deux ans.", "Le labo garde les échantillons deux ans, sauf exception."),
    ("La tienda abre los lunes a las 9.", "La tienda no abre los lunes a las 9."),
])  # fmt: skip
async def test_another_condition_order_or_figure_makes_no_double(world: World, one: str, other: str) -> None:
    async with world.engine() as engine:
        await engine.append(one, kind="fact")
        world.later(hours=1)
        await engine.append(other, kind="fact")
        assert await doubles(engine) == []


async def test_only_interchangeable_notes_are_doubles(world: World) -> None:
    forbidden = "Never deploy the billing service on Fridays."
    call = "Remind me tomorrow to call the printer of the flyers."
    world.with_home("").write("notes/MEMORY.md", SAID)
    world.write("notes/north.md", "# North lab\n\nOpens at seven on Mondays and Fridays.\n")
    world.write("notes/south.md", "# South lab\n\nOpens at seven on Mondays and Fridays.\n")
    world.write("notes/imported/bakery.md", SAID)
    async with world.engine() as engine:
        await engine.append(SAID, kind="fact", project="shop")
        await engine.append(SAID, kind="fact", project="depot")
        await engine.append(SAID, kind="log", project="shop")
        await engine.append(forbidden, kind="decision", source="cli")
        await engine.append(forbidden, kind="fact", source="claude-code")
        await engine.append(call, kind="commitment", due="2026-11-24")
        await engine.append(f"Please {call}", kind="commitment", due="2026-11-25")
        assert await doubles(engine) == []


async def test_a_crowd_of_doubles_waits_in_parts(world: World) -> None:
    world.with_home("")
    for number in range(25):
        for name in "ab":
            text = f"The archive box {number} of the town library stands in the north cellar."
            world.write(
                f"notes/fact/{number}{name}.md", f"---\nid: {name}{number}\ntitle: Archive\nkind: fact\n---\n{text}\n"
            )
    async with world.engine() as engine:
        await engine.adopt()
        items = await doubles(engine)
        assert len(items) == 20
        await engine.perform("review", {"items": [one["id"] for one in items], "choice": "both"})
        assert len(await doubles(engine)) == 5
