"""What is over is proposed, goes to `_archive/` with its links, stays reachable there, and comes back byte for byte."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from mcp_memory.curation.config import DecayConfig
from mcp_memory.errors import Refused
from mcp_memory.jobs.job import JobsConfig
from mcp_memory.models import NoteState
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, paths, records

pytestmark = pytest.mark.anyio
DECAY = DecayConfig(archive_kinds=("task",), over_days=30)


async def proposed(engine: KeywordEngine) -> dict[str, str]:
    return {one["path"]: one["why"] for one in await engine.waiting("archive")}


async def reachable(engine: KeywordEngine) -> set[str]:
    found = await engine.search("port", limit=100, include_archived=True, project="*", mode="keyword")
    return {hit.id for hit in found.hits}


async def stored(engine: KeywordEngine, text: str, **more: Any) -> str:
    return (await engine.append(text, **more)).path


async def test_a_bounded_list_has_what_the_last_look_at_all_notes_found(world: World) -> None:
    async with world.engine(decay=DECAY, jobs=JobsConfig(enabled=False)) as engine:
        for number in range(3):
            await stored(engine, f"Port {number} is free", kind="fact", expires="2026-11-30")
        world.later(days=40)

        async def first(limit: int) -> list[str]:
            return [one["id"] for one in (await engine.perform("waiting", {"limit": limit}))["waiting"]]

        one, other = await first(2)
        assert len(await first(9)) == 3
        await stored(engine, "Port 9 is free", kind="fact", expires="2026-11-30")
        assert len(await first(9)) == 3 and len(await proposed(engine)) == 4
        assert len(await first(9)) == 4
        await engine.review("archive", one)
        await engine.forget(other.removeprefix("archive-"))
        assert {one, other}.isdisjoint(await first(9))


async def test_what_is_over_is_proposed_and_only_configured_kinds_go_by_themselves(world: World) -> None:
    async with world.engine(decay=DECAY, jobs=JobsConfig(enabled=False)) as engine:
        task = await stored(engine, "Move the port to 5433", kind="task", expires="2026-11-30")
        links = f"[task](/{task}) and [[{task}]]"
        fact = await stored(engine, f"The port is 5432, see {links}", kind="fact", expires="2026-11-30")
        promise = await stored(engine, "I promised Petra the port list", kind="commitment", expires="2026-11-30")
        old = await stored(engine, "The port of staging is 80", kind="decision")
        new = await stored(engine, "The port of staging is 81", kind="decision", supersedes=old)
        ids = await reachable(engine)
        assert not await proposed(engine)
        world.later(days=40)
        found = await proposed(engine)
        assert set(found) == {task, fact}
        assert {one["what"] for one in await engine.waiting()} == {"archive"}
        assert found[fact] == "expired for 31 days"
        run = await engine.run_job("decay")
        assert run["error"] is None and run["changed"] == [f"_archive/{task}"], run
        assert set(await proposed(engine)) == {fact}
        assert f"](/_archive/{task})".encode() in world.read(fact), "links follow"
        assert await reachable(engine) >= ids
        world.later(days=400)
        found = await proposed(engine)
        assert new in found and promise not in found and found[old].startswith("superseded")
        back = await engine.perform("restore", {"target": f"_archive/{task}"})
        assert back["path"] == task and f"](/{task})".encode() in world.read(fact)


@pytest.mark.parametrize("seed", range(5))
async def test_random_histories_lose_nothing_and_taken_back_give_the_first_bytes(world: World, seed: int) -> None:
    chance = random.Random(seed)
    async with world.engine(decay=replace(DECAY, over_days=0)) as engine:
        paths = [await stored(engine, f"Host {number} has port {8000 + number}", kind="task", expires="2026-11-22")
                 for number in range(4)]  # fmt: skip
        await stored(engine, "Ports: " + ", ".join(f"[[{path}]]" for path in paths), kind="fact")
        world.later(days=2)
        before, ids, archived = world.files(), await reachable(engine), list[str]()
        for _ in range(5):
            wanted = [one["id"] for one in await engine.waiting("archive") if chance.random() < 0.5]
            archived += await engine.archive(wanted)
            assert await reachable(engine) >= ids
            if archived and chance.random() < 0.4:
                await engine.perform("restore", {"target": archived.pop(chance.randrange(len(archived)))})
                assert await reachable(engine) >= ids
        for path in reversed(archived):
            await engine.perform("restore", {"target": path})
        assert world.files() == before


async def test_what_a_person_changed_or_put_in_the_way_stays(world: World) -> None:
    async with world.engine(decay=replace(DECAY, over_days=0)) as engine:
        task = await stored(engine, "Move the port to 5433", kind="task", expires="2026-11-22")
        world.later(days=2)
        world.write(f"_archive/{task}", "mine\n")
        [one] = await engine.waiting("archive")
        with pytest.raises(Refused, match="had to stay"):
            await engine.archive([one["id"]])
        assert world.read(f"_archive/{task}") == b"mine\n" and world.read(task)


async def test_what_an_expired_task_teaches_is_proposed_once_and_goes_with_its_return(world: World) -> None:
    async with world.engine(decay=DecayConfig(over_days=0), jobs=JobsConfig(enabled=False)) as engine:
        said = "Move the port. Never restart the broker while it moves."
        task = await stored(engine, said, kind="task", expires="2026-11-22", project="shop")
        await stored(engine, "Upload the port list", kind="task", expires="2026-11-22")
        await stored(engine, "We always ship on Thursdays.", kind="decision", expires="2026-11-22")
        world.later(days=2)
        for figures in ({"archived": 0, "proposed": 3, "lessons": 1}, {"archived": 0, "proposed": 3, "lessons": 0}):
            run = await engine.run_job("decay")
            assert run["figures"] == figures
        (lesson,) = await engine.inbox()
        assert (lesson.text, lesson.kind, lesson.project) == (said.partition(". ")[2], "lesson", "shop")
        item = next(one["id"] for one in await engine.waiting("archive") if one["path"] == task)
        assert [f"archive-{one}" for one in lesson.derived_from] == [item]
        await engine.archive([item])
        await engine.perform("restore", {"target": f"_archive/{task}"})
        assert await engine.inbox() == []


@pytest.mark.parametrize("is_edited", [False, True])
async def test_an_accepted_lesson_goes_with_its_notes_return_unless_it_was_edited(
    world: World, is_edited: bool
) -> None:
    async with world.engine(decay=DecayConfig(over_days=0), jobs=JobsConfig(enabled=False)) as engine:
        said = "Move the port. Never restart the broker while it moves."
        task = await stored(engine, said, kind="task", expires="2026-11-22", project="shop")
        world.later(days=2)
        await engine.run_job("decay")
        (lesson,) = await engine.inbox()
        await engine.review("accept", lesson.id)
        (accepted,) = [note.path for note in records(engine) if note.id == lesson.id]
        if is_edited:
            world.write(accepted, world.read(accepted).decode() + "Ask Bo first.\n")
            await engine.sweep()
        item = (await engine.waiting("archive"))[0]["id"]
        await engine.archive([item])
        await engine.perform("restore", {"target": f"_archive/{task}"})
        assert (accepted in paths(engine, NoteState.DELETED)) is not is_edited
