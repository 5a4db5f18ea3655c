"""What may be noise: fragments, unused and expired notes, those of an import and of a session."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_memory.errors import InvalidInput
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio


async def noise(engine: KeywordEngine, what: str, **more: Any) -> dict[str, Any]:
    return await engine.perform("noise", {"what": what, **more})


async def ids(engine: KeywordEngine, what: str, **more: Any) -> list[str]:
    return [note["id"] for note in (await noise(engine, what, **more))["notes"]]


async def test_a_fragment_says_nothing_whole(world: World) -> None:
    async with world.engine() as engine:
        fragment = await engine.append("ok then", kind="fact")
        await engine.append("The port is 5433.", kind="fact")
        await engine.append("ok", kind="log")
        (note,) = (await noise(engine, "fragment"))["notes"]
        assert (note["id"], note["text"], note["private"]) == (fragment.id, "ok then", False)


async def test_an_unused_note_is_old_and_no_agent_got_it_lately(world: World) -> None:
    async with world.engine() as engine:
        used = await engine.append("The staging database listens on port 5433.", kind="fact")
        unused = await engine.append("Herons hunt at dusk.", kind="fact")
        assert await ids(engine, "unused") == []
        world.later(days=100)
        await engine.append("Otters sleep afloat.", kind="fact")
        await engine.search("port of the staging database")
        assert await ids(engine, "unused") == [unused.id]
        world.later(days=100)
        assert used.id in await ids(engine, "unused")


async def test_an_expired_note_is_listed_and_a_replaced_one_is_not(world: World) -> None:
    async with world.engine() as engine:
        over = await engine.append("The sale ends soon.", kind="fact", expires="2026-11-30")
        old = await engine.append("The port is 80.", kind="fact")
        await engine.append("The port is 81.", kind="fact", supersedes=old.id)
        world.later(days=40)
        (note,) = (await noise(engine, "expired"))["notes"]
        assert note["id"] == over.id and note["why"].startswith("expired on 2026-1")


async def test_imports_and_sessions_are_chosen_from_groups(world: World) -> None:
    async with world.engine() as engine:
        for number in range(3):
            world.write(f"imported/notion/{number}.md", f"Clipping number {number} of the web.\n")
        world.write("imported/other/1.md", "Another clipping.\n")
        await engine.sweep()
        await engine.append("Otters sleep afloat.", kind="fact", session="abc")
        groups = {one["name"]: one["notes"] for one in (await noise(engine, "imported"))["groups"]}
        assert groups == {"notion": 3, "other": 1}
        answer = await noise(engine, "imported", name="notion", limit=2)
        assert len(answer["notes"]) == 2 and answer["further"]
        assert [one["name"] for one in (await noise(engine, "session"))["groups"]] == ["abc"]
        assert len(await ids(engine, "session", name="abc")) == 1


async def test_another_kind_is_refused(world: World) -> None:
    async with world.engine() as engine:
        with pytest.raises(InvalidInput, match="unknown noise"):
            await noise(engine, "junk")
