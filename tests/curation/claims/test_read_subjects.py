"""A language model, if you chose one, says what notes are about and what they replace; pages quote only notes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.extraction.session_reader import TOKEN, Reader, reader
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio

NOTES = (
    "Lorna Tait keeps the rota.",
    "The transmitter's key is with Mr Pugh.",
    "Lorna wants it on paper.",
    "The key is with Mrs Adeyemi now.",
)
LORNA = {"name": "Lorna Tait", "kind": "person"}
ANSWER = [
    {"line": 1, "about": [LORNA]},
    {"line": 2, "about": [{"name": "transmitter", "kind": "machine"}]},
    {"line": 3, "about": [{"name": "Lorna", "kind": "person", "as": "Lorna Tait"}]},
    {"line": 4, "replaces": [2]},
]


@pytest.fixture
def model() -> Iterator[Reader]:
    with reader() as one:
        say(one, *ANSWER)
        yield one


def say(model: Reader, *items: dict[str, Any]) -> None:
    model.answer = json.dumps({"lines": items})


async def stored(engine: KeywordEngine, world: World, *notes: str, **rest: Any) -> None:
    for content in notes:
        await engine.append(content, kind="fact", session=content[:9], **rest)
        world.later(days=1)


async def subjects(engine: KeywordEngine) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the claims by text, by kind and name of their subject."""
    found = (await engine.perform("claims", {}))["subjects"]
    return {f"{one['kind']}/{one['name']}": {claim["text"]: claim for claim in one["claims"]} for one in found}


async def test_pages_are_about_what_the_model_names_and_quote_the_notes(world: World, model: Reader) -> None:
    async with world.engine(**model.sections) as engine:
        await stored(engine, world, *NOTES)
        assert await subjects(engine) == {}
        await engine.run_job("pages")
        found = await subjects(engine)
        assert set(found) == {"people/Lorna Tait", "machines/transmitter"}
        assert set(found["people/Lorna Tait"]) == {NOTES[0], NOTES[2]}
        key = found["machines/transmitter"]
        assert not key[NOTES[1]]["holds"] and [one["text"] for one in key[NOTES[3]]["earlier"]] == [NOTES[1]]
        await engine.organize()
        page = world.read("entities/machines/transmitter.md").decode()
        assert page.index(NOTES[3]) < page.index("  - earlier (2026-11-22)") < page.index(NOTES[1])
    asked = model.asked
    assert "[2] 2026-11-22: The transmitter's key is with Mr Pugh." in asked and "encyclopedia" in asked


async def test_what_was_replaced_twice_is_below_the_latest(world: World, model: Reader) -> None:
    told = ["Desk 4 is Dora's.", "Desk 4 is Hugo's.", "Desk 4 is Eva's."]
    about = [{"name": "Desk 4", "kind": "place"}]
    say(model, {"line": 1, "about": about}, {"line": 2, "about": about, "replaces": [1]},
        {"line": 3, "about": about, "replaces": [2]})  # fmt: skip
    async with world.engine(**model.sections) as engine:
        await stored(engine, world, *told)
        await engine.run_job("pages")
        desk = (await subjects(engine))["places/Desk 4"]
        assert [text for text, one in desk.items() if one["holds"]] == told[2:]
        assert {one["text"] for one in desk[told[2]]["earlier"]} == set(told[:2])


@pytest.mark.parametrize("about", [
    [{"name": "Lorna Taylor", "kind": "person"}],
    [{"name": "Lorna", "kind": "boss"}],
    [{"name": "", "kind": "person"}],
    [{"name": "Lorna Tait keeps the rota. " * 9, "kind": "person"}],
    {"name": "Lorna Tait", "kind": "person"},
    ["Lorna Tait"],
    [{"name": 7, "kind": "person"}],
])  # fmt: skip
async def test_a_subject_that_the_line_does_not_name_is_dropped(world: World, model: Reader, about: object) -> None:
    say(model, {"line": 1, "about": about})
    async with world.engine(**model.sections) as engine:
        await stored(engine, world, *NOTES)
        await engine.run_job("pages")
        assert await subjects(engine) == {}


async def test_a_fuller_name_that_no_line_has_is_ignored(world: World, model: Reader) -> None:
    say(model, {"line": 3, "about": [{"name": "Lorna", "kind": "person", "as": "Lorna the Great"}]})
    async with world.engine(**model.sections) as engine:
        await stored(engine, world, *NOTES)
        await engine.run_job("pages")
        assert set(await subjects(engine)) == {"people/Lorna"}


async def test_the_model_sees_nothing_private_foreign_or_secret(world: World, model: Reader) -> None:
    async with world.engine(**model.sections) as engine:
        await stored(engine, world, *NOTES, f"The deploy [key](x) is {TOKEN[:20]} and more.")
        await stored(engine, world, "Lorna earns too little.", tags=["private"])
        await stored(engine, world, "Strangers say Lorna left.", project="channel:x")
        await engine.run_job("pages")
    assert "earns" not in model.asked and "Strangers" not in model.asked and NOTES[0] in model.asked


@pytest.mark.parametrize("answer", ["I can't.", '{"lines": 1}'])
async def test_rules_name_subjects_while_the_model_does_not_answer(world: World, model: Reader, answer: str) -> None:
    model.answer = answer
    told = ("Dora Pelikan leads design.", "Dora Pelikan is in room 12.", "Dora Pelikan is off.")
    async with world.engine(**model.sections) as engine:
        await stored(engine, world, *told)
        await engine.run_job("pages")
        assert set(await subjects(engine)) == {"names/Dora Pelikan"}
        (found,) = [one.what for one in await engine.doctor() if "another form" in one.what]
        assert found.startswith("1 answer of endpoint")


async def test_a_note_is_read_once_and_few_new_ones_wait_for_an_hour(world: World, model: Reader) -> None:
    async with world.engine(**model.sections) as engine:
        await stored(engine, world, *NOTES)
        await engine.run_job("pages")
        say(model, {"line": 2, "about": [{"name": "Lorna", "kind": "person", "as": "Lorna Tait"}]})
        await engine.append("Lorna is back on Mondays.", kind="fact")
        world.later(minutes=5)
        await engine.run_job("pages")
        assert len(model.endpoint.requests) == 1
        assert "Lorna is back on Mondays." in (await subjects(engine))["people/Lorna Tait"], "it names her"
        world.later(hours=1)
        for _ in range(2):
            await engine.run_job("pages")
        assert len(model.endpoint.requests) == 2
        lines = model.asked.partition("<<<")[2]
        assert "[1] 2026-11-21: Lorna Tait keeps the rota." in lines and "Mr Pugh" not in lines


async def test_what_was_found_in_an_erased_note_is_gone(world: World, model: Reader) -> None:
    async with world.engine(**model.sections) as engine:
        await stored(engine, world, *NOTES)
        await engine.run_job("pages")
        note = next(one for one in (await engine.search("Lorna Tait rota")).hits if one.title == NOTES[0])
        await engine.perform("erase", {"target": note.id, "sure": True})
        assert "Tait" not in json.dumps(await subjects(engine))
        assert note.id not in (world.state / "read-lines.jsonl").read_text()


async def test_what_was_found_in_an_erased_entry_of_a_log_is_gone(world: World, model: Reader) -> None:
    say(model, {"line": 1, "about": [LORNA]}, {"line": 2, "about": [{"name": "Dora", "kind": "person"}]})
    async with world.engine(**model.sections) as engine:
        await engine.append("Lorna Tait came by.", kind="log")
        await engine.append("Dora fixed the printer.", kind="log")
        await engine.run_job("pages")
        assert {"people/Lorna Tait", "people/Dora"} <= set(await subjects(engine))
        hit = next(one for one in (await engine.search("Lorna Tait came by")).hits if "Lorna" in one.snippet)
        await engine.perform("erase", {"target": hit.id, "sure": True})
        kept = (world.state / "read-lines.jsonl").read_text()
        assert "Lorna" not in kept and "Dora" in kept
