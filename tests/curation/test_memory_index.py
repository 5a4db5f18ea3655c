"""The index in MEMORY.md: between its marks alone, the same bytes for the same notes, and only where it is wanted."""

from __future__ import annotations

import pytest

from mcp_memory.errors import Refused
from tests.support.world import World

pytestmark = pytest.mark.anyio
MINE = b"# Memory\r\n\r\n- Caf\xe9 at four\r\n"


async def test_an_index_stands_between_marks_and_no_other_byte_changes(world: World) -> None:
    async with world.engine() as engine:
        world.write("MEMORY.md", MINE)
        note = await engine.append("The port is 5433.", kind="fact", project="shop")
        await engine.append("Secret of the shop", kind="fact", project="hidden", tags=["private"])
        for _ in range(3):
            await engine.recall(ids=[note.id])
            world.later(days=1)
        await engine.organize()
        assert world.read("MEMORY.md") == MINE
        assert "MEMORY.md" in await engine.organize(memory=True)
        memory = world.read("MEMORY.md")
        assert memory.startswith(MINE)
        lines = memory[len(MINE) :].decode().split("\r\n")
        assert lines[2:-2] == [
            "## Active projects", "", "| project | notes | latest |", "| --- | --- | --- |",
            "| [shop](./entities/projects/shop.md) | 1 | 2026-11-21 |", "",
            "## Key facts", "", "| used on | note |", "| --- | --- |",
            "| 3 days | [The port is 5433.](./notes/fact/the-port-is-5433.md) |",
        ]  # fmt: skip
        assert await engine.organize(memory=True) == []
        assert (await engine.run_job("pages"))["changed"] == []
        await engine.append("The shop sells mills.", kind="fact", project="shop")
        run = await engine.run_job("pages")
        assert "MEMORY.md" in run["changed"] and b"| 2 | 2026-11-24 |" in world.read("MEMORY.md")
        world.write("MEMORY.md", world.read("MEMORY.md").replace(b"<!-- mcp-memory index ends -->", b""))
        broken = world.read("MEMORY.md")
        with pytest.raises(Refused):
            await engine.organize()
        assert world.read("MEMORY.md") == broken
        world.write("MEMORY.md", MINE)
        await engine.organize()
        assert world.read("MEMORY.md") == MINE
