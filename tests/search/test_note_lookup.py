"""What callers may call a note: its id, the end of that, its path."""

from __future__ import annotations

import pytest

from mcp_memory.errors import InvalidInput, NotFound
from tests.support.world import World

pytestmark = pytest.mark.anyio


async def test_the_end_of_an_id_does_wherever_an_id_does(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("The kettle is red.", kind="fact")
        entry = await engine.append("The kettle was descaled.", kind="log")
        for receipt in (note, entry):
            short = receipt.id[-6:].lower()
            told = await engine.recall(ids=[short])
            assert told == await engine.recall(ids=[receipt.id]) and "kettle" in told
            assert "kettle" in (await engine.perform("show", {"target": short}))["text"]
            for operation, status in (("forget", "deleted"), ("restore", "active")):
                done = await engine.perform(operation, {"target": short})
                assert (done["id"], done["status"]) == (receipt.id, status)
        new = await engine.append("The kettle is blue.", kind="fact", supersedes=note.id[-8:])
        assert new.outcome == "superseded"
        assert (await engine.perform("erase", {"target": new.id[-6:]}))["path"] == new.path


async def test_what_answers_name_can_be_passed_on(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("The kettle is red.", kind="fact")
        told = next(line for line in (await engine.recall("kettle")).split("\n") if "kettle is red" in line)
        named = told.partition(": ")[0].split()[-1]
        assert note.id.endswith(named) and "kettle is red" in await engine.recall(ids=[named])


async def test_an_ambiguous_end_names_the_ids_and_a_whole_id_wins(world: World) -> None:
    for name, own in (("a", "kettle"), ("b", "red-kettle"), ("c", "blue-kettle")):
        world.write(f"{name}.md", f"---\nid: {own}\n---\nIt is {name}.\n")
    async with world.engine() as engine:
        assert "It is a." in await engine.recall(ids=["kettle"])
        with pytest.raises(InvalidInput, match="2 ids end with -Kettle: blue-kettle, red-kettle") as refused:
            await engine.recall(ids=["-Kettle"])
        assert refused.value.hint == "pass one of them in full"
        assert "It is b." in await engine.recall(ids=["d-kettle"])
        for unknown in ("ettle", "zettle", "%ettle", "______"):
            with pytest.raises(NotFound):
                await engine.recall(ids=[unknown])
