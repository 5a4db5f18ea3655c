"""A note that is asked for on many days is proposed for `always_load`, a cold standing order for its end; a tick does
it, and `undo` takes it back byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_memory.curation.dreams.standing_orders import LOAD, UNLOAD
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, embedded

pytestmark = pytest.mark.anyio
STEPS = "\n".join(f"{step}. Look at part {step} of the change with the checklist in hand." for step in range(1, 8))
REVIEW = f"Reviews go from the ticket to the tests to the change.\n\n{STEPS}"
QUESTIONS = ("how do reviews go?", "ticket, tests, change: what comes first?", "checklist for part 3 of a change")


async def asked_for(engine: KeywordEngine, world: World, text: str, **more: Any) -> str:
    """A note that answers another question on each of three days."""
    note = await engine.append(text, **more)
    await embedded(engine)
    for question in QUESTIONS:
        assert {hit.id for hit in (await engine.search(question)).hits} == {note.id}
        await engine.perform("stats", {"target": note.id})  # counts the question while its vector is at hand
        world.later(days=1)
    return note.path


async def proposed(engine: KeywordEngine) -> dict[str, str]:
    return {one["text"]: one["section"] for one in (await engine.perform("dream", {}))["proposed"]}


async def test_a_hot_note_is_loaded_in_every_session_after_a_tick_until_that_is_undone(
    tmp_path: Path, model_cache: Path
) -> None:
    world = World(tmp_path / "vault", tmp_path / "state", model_cache, "auto")
    async with world.engine() as engine:
        path = await asked_for(engine, world, REVIEW, kind="workflow")
        before, title = world.read(path), REVIEW.partition("\n")[0]
        assert await proposed(engine) == {title: LOAD}
        page = world.read("DREAMS.md").decode()
        assert f"## {LOAD}\n\n- [ ] {title} ^dream-" in page and "used on 3 days, for 3 different questions" in page
        (item,) = await engine.waiting("proposal")
        assert (item["kind"], [one["name"] for one in item["choices"]]) == (LOAD, ["accept", "drop"])
        await engine.review("accept", item["id"])
        done = await engine.perform("dream", {})
        assert done["done"] == [f"load in every session: {title}"] and title not in world.read("DREAMS.md").decode()
        assert world.read(path).replace(b"\nalways_load: true\n", b"\n") == before
        await engine.sweep()
        assert "Look at part 7" in (await engine.perform("brief", {"session": "codex/1"}))["text"]
        undone = await engine.perform("undo", {"target": done["run"], "sure": True})
        assert [step["why"] for step in undone["steps"]] == [""] and world.read(path) == before
        assert await proposed(engine) == {}, "what you took back isn't proposed again"


async def test_only_a_long_note_of_ours_that_tells_agents_what_to_do_is_proposed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_memory.curation.dreams.standing_orders.MIN_QUESTIONS", 0)
    async with world.engine() as engine:
        await asked_for(engine, world, REVIEW, kind="fact")
        assert LOAD not in (await proposed(engine)).values()
        world.write("notes/decision/mine.md", f"---\nkind: decision\n---\n{REVIEW}\n")
        await engine.sweep()
        for question in QUESTIONS:
            await engine.search(question)
            world.later(days=1)
        assert LOAD not in (await proposed(engine)).values()


async def test_a_cold_standing_order_is_proposed_for_leaving_and_only_a_tick_ends_it(world: World) -> None:
    async with world.engine() as engine:
        for name in ("mill", "port"):
            world.write(f"_always-load/{name}.md", f"---\ncreated: 2026-01-01\n---\nThe {name} turns.\n")
        await engine.sweep()
        await engine.search("which port?")
        before = world.files()
        assert await proposed(engine) == {"mill": UNLOAD}
        assert "neither found nor told for 324 days" in world.read("DREAMS.md").decode()
        page = world.read("DREAMS.md").decode()
        assert {path: data for path, data in world.files().items() if path != "DREAMS.md"} == before
        world.write("DREAMS.md", page.replace("- [ ]", "- [x]"))
        done = await engine.perform("dream", {})
        await engine.sweep()
        brief = (await engine.perform("brief", {"session": "codex/1"}))["text"]
        assert "The port turns" in brief and "The mill turns" not in brief
        assert b"always_load: false" in world.read("_always-load/mill.md")
        await engine.perform("undo", {"target": done["run"], "sure": True})
        assert world.read("_always-load/mill.md") == before["_always-load/mill.md"]


async def test_an_order_that_you_ended_yourself_is_not_proposed_for_leaving(world: World) -> None:
    async with world.engine() as engine:
        world.write("_always-load/mill.md", "---\ncreated: 2026-01-01\nalways_load: false\n---\nThe mill turns.\n")
        world.write("_always-load/port.md", "---\ncreated: 2026-11-01\nalways_load:\n---\nThe port turns.\n")
        await engine.sweep()
        assert await proposed(engine) == {}
        brief = (await engine.brief("codex/1")).text
        assert "The mill turns" not in brief and "The port turns" in brief, "only `false` ends an order"


async def test_a_line_that_is_ticked_after_its_run_was_undone_does_nothing(world: World) -> None:
    async with world.engine() as engine:
        world.write("_always-load/mill.md", "---\ncreated: 2026-01-01\n---\nThe mill turns.\n")
        await engine.sweep()
        run = (await engine.perform("dream", {}))["run"]
        page = world.read("DREAMS.md").decode()
        await engine.undo_run(run)
        before = world.files()
        world.write("DREAMS.md", page.replace("- [ ]", "- [x]"))
        done = await engine.perform("dream", {})
        assert not (done["done"] or done["promoted"]) and "taken back" in done["refused"][0]
        assert {path: data for path, data in world.files().items() if path != "DREAMS.md"} == {
            path: data for path, data in before.items() if path != "DREAMS.md"
        }


async def test_a_rejected_proposal_does_not_come_back(world: World) -> None:
    async with world.engine() as engine:
        world.write("_always-load/mill.md", "---\ncreated: 2026-01-01\n---\nThe mill turns.\n")
        await engine.sweep()
        assert await proposed(engine) == {"mill": UNLOAD}
        (item,) = await engine.waiting("proposal")
        await engine.review("drop", item["id"])
        assert await proposed(engine) == {} and await proposed(engine) == {}
        assert b"always_load" not in world.read("_always-load/mill.md")


async def test_what_is_asked_often_on_one_day_is_not_proposed_until_it_is_asked_on_three(
    tmp_path: Path, model_cache: Path
) -> None:
    world = World(tmp_path / "vault", tmp_path / "state", model_cache, "auto")
    async with world.engine() as engine:
        ids = [(await engine.append(text, kind="decision")).id for text in (REVIEW, "The port of the mill is 5433.")]
        await embedded(engine)
        for question in (*QUESTIONS, "which port has the mill?", "where does the mill listen?"):
            await engine.search(question)
            await engine.perform("stats", {"target": ids[0]})  # counts the question while its vector is at hand
        assert await proposed(engine) == {}
        for _ in range(2):
            world.later(days=1)
            await engine.recall(ids=ids)
        assert len(await proposed(engine)) == 2
