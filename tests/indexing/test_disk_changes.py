from __future__ import annotations

import pytest

from mcp_memory.indexing import disk_changes
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio


def seen(engine: KeywordEngine) -> list[tuple[str, str, str | None]]:
    """What was changed on disk, the oldest first."""
    found = engine.parts.vault.changes.changes()[::-1]
    return [(one.kind.value, one.path, one.other) for one in found if one.client == "disk"]


async def test_what_you_do_to_a_file_is_recorded_once(world: World) -> None:
    async with world.engine() as engine:
        sweep = engine.parts.admin.reconcile
        note = await engine.append("Ours", kind="fact")
        await sweep()
        assert seen(engine) == []
        world.write("mine.md", "Mine\n")
        await sweep()
        await sweep()
        world.write("mine.md", "Mine, longer\n")
        world.write(note.path, world.read(note.path) + b"by hand\n")
        await sweep()
        (world.root / "mine.md").rename(world.root / "yours.md")
        await sweep()
        (world.root / "yours.md").unlink()
        (world.root / note.path).unlink()
        await sweep()
        edits, removals = seen(engine)[1:3], seen(engine)[4:]
        assert seen(engine)[0] == ("stored", "mine.md", None)
        assert sorted(edits) == [("edited", "mine.md", None), ("edited", note.path, None)]
        assert seen(engine)[3] == ("moved", "yours.md", "mine.md")
        assert sorted(removals) == [("removed", note.path, None), ("removed", "yours.md", None)]


async def test_changes_while_nothing_ran_are_found_at_the_next_start(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("Ours", kind="fact")
    world.write(note.path, world.read(note.path) + b"by hand\n")
    async with world.engine() as engine:
        assert seen(engine) == [("edited", note.path, None)]


async def test_a_new_index_and_our_own_later_write_are_no_edit_of_yours(world: World) -> None:
    world.write("old.md", "From before\n")
    async with world.engine() as engine:
        note = await engine.append("Ours", kind="fact")
        assert seen(engine) == []
        vault = engine.parts.vault
        vault.filing.revise(note.path, vault.read(note.path).text + "more\n", note.etag)  # the index isn't told
        await engine.sweep()
        assert seen(engine) == []


async def test_a_checkout_is_one_change(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_changes, "MOST_A_SWEEP", 5)
    async with world.engine() as engine:
        for number in range(6):
            world.write(f"n{number}.md", f"{number}\n")
        await engine.sweep()
        assert seen(engine) == [("stored", "", None)]
        assert engine.parts.vault.changes.changes()[0].count == 6
