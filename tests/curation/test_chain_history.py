"""A chain's values that were superseded over a year ago move to `_archive/`, below a page with their history."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_memory.curation.config import DecayConfig
from mcp_memory.jobs.job import JobsConfig
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, found, records

pytestmark = pytest.mark.anyio
PORTS = range(5432, 5438)


async def moved_port(engine: KeywordEngine, world: World, days: int = 30) -> list[str]:
    """The paths of six values, each of which superseded the one before."""
    paths: list[str] = []
    for port in PORTS:
        supersedes = {"supersedes": paths[-1]} if paths else {}
        text = f"The harbour port of staging is {port}."
        paths.append((await engine.append(text, kind="fact", session=f"s-{port}", **supersedes)).path)
        world.later(days=days)
    return paths


async def archived(engine: KeywordEngine, **filters: str) -> list[str]:
    return await found(engine, "harbour port of staging", include_archived=True, **filters)


async def test_the_values_of_a_year_ago_are_one_page_in_searches_and_all_come_back(world: World) -> None:
    async with world.engine() as engine:
        paths = await moved_port(engine, world)
        assert await engine.waiting("archive") == []
        world.later(days=365)
        await found(engine, "harbour port of staging")  # so the present value isn't cold
        before = world.files()
        assert sorted(one["path"] for one in await engine.waiting("archive")) == sorted(paths[:-1])
        assert len(await archived(engine)) == 6
        moved = await engine.archive([one["id"] for one in await engine.waiting("archive")])
        (page,) = {*world.files()} - {*before} - {f"_archive/{path}" for path in paths}
        assert sorted(moved) == sorted(f"_archive/{path}" for path in paths[:-1])
        assert {*await archived(engine)} == {page, paths[-1]}
        assert all(world.read(f"_archive/{path}") == before[path] for path in paths[:-1])
        told = world.read(page).decode()
        values = [line for line in told.splitlines() if line.startswith("- 20")]
        assert values[0] == "- 2027-03-21 to 2027-04-20 (s-5436): The harbour port of staging is 5436."
        assert len(values) == 5 and values[-1].endswith("5432.") and "Earlier values: The harbour" in told
        assert f"_archive/{paths[1]}" in await found(engine, "harbour port of staging", until="2027-01-10")
        old = await engine.recall(ids=[next(note.id for note in records(engine) if note.path.endswith(paths[0]))])
        assert "5432" in old and "5437" in old
        run = next(one["run"] for one in (await engine.perform("changes", {}))["changes"] if one["kind"] == "moved")
        await engine.perform("undo", {"target": run, "sure": True})
        assert world.files() == before and len(await archived(engine)) == 6


async def test_the_page_grows_with_the_chain_and_an_edited_page_and_its_chain_stay(world: World) -> None:
    settings: dict[str, Any] = {"decay": DecayConfig(archive_kinds=("fact",)), "jobs": JobsConfig(enabled=False)}
    async with world.engine(**settings) as engine:
        await moved_port(engine, world, days=100)
        for values in (2, 3, 4):
            await engine.run_job("decay")
            (page,) = [note.path for note in records(engine) if note.title.startswith("Earlier values")]
            assert world.read(page).count(b"\n- 20") == values
            world.later(days=100)
        mine = world.read(page) + b"\nMine.\n"
        world.write(page, mine)
        await engine.sweep()
        before = world.files()
        assert any("superseded" in one["why"] for one in await engine.waiting("archive"))
        await engine.run_job("decay")
        assert world.files() == before and world.read(page) == mine


async def gathered(engine: KeywordEngine, world: World, **last: Any) -> tuple[list[str], str]:
    """The paths of the values, and the page of those that moved."""
    paths = await moved_port(engine, world)
    if last:
        paths.append((await engine.append("The harbour port is 9999.", supersedes=paths[-1], **last)).path)
    world.later(days=365)
    await found(engine, "harbour port of staging")
    await engine.archive([one["id"] for one in await engine.waiting("archive")])
    (page,) = [path for path in world.files() if "/history/" in path]
    return paths, page


async def test_the_page_quotes_no_forgotten_value(world: World) -> None:
    async with world.engine() as engine:
        paths, page = await gathered(engine, world)
        await engine.forget(f"_archive/{paths[2]}", personal=True)
        assert await archived(engine) == [paths[-1]]
        asked = [await engine.recall("harbour port of staging", include_archived=True), await engine.recall(ids=[page])]
        assert not any("5434" in text for text in asked) and "withheld" in asked[1]
        await engine.run_job("decay")
        assert page in await archived(engine) and "5433" in world.read(page).decode()
        assert b"5434" not in world.read(page)
        once = world.files()
        await engine.run_job("decay")
        assert world.files() == once


async def test_the_page_is_as_private_as_its_chain_and_no_agents_if_several_wrote_it(world: World) -> None:
    async with world.engine() as engine:
        _, page = await gathered(engine, world, source="codex", tags=["private"])
        assert b"9999" in world.read(page) and b"tags: [private]" in world.read(page)
        (note,) = [note for note in records(engine) if note.path == page]
        assert note.source not in {None, "codex"}


async def test_a_value_that_was_superseded_lately_is_not_cold_however_old_it_is(world: World) -> None:
    async with world.engine() as engine:
        old = (await engine.append("The harbour port of staging is 1.", kind="fact")).path
        world.later(days=400)
        await engine.append("The harbour port of staging is 2.", kind="fact", supersedes=old)
        assert await engine.waiting("archive") == []


async def test_erasing_an_old_value_erases_the_page_that_quotes_it(world: World) -> None:
    async with world.engine() as engine:
        paths = await moved_port(engine, world)
        world.later(days=365)
        await engine.archive([one["id"] for one in await engine.waiting("archive")])
        await engine.perform("erase", {"target": f"_archive/{paths[2]}", "sure": True})
        held = [one for root in (world.root, world.state) for one in root.rglob("*") if one.is_file()]
        assert not [one.name for one in held if b"is 5434" in one.read_bytes()]
