from __future__ import annotations

import pytest

from mcp_memory.indexing import disk_changes
from tests.support.indexed_vault import indexed_vault
from tests.support.world import World, draft

pytestmark = pytest.mark.anyio


def seen(world: World) -> list[tuple[str, str, str | None]]:
    """What was changed on disk, the oldest first."""
    found = world.vault().changes.changes()[::-1]
    return [(one.kind, one.path, one.other) for one in found if one.client == "disk"]


async def test_what_you_do_to_a_file_is_recorded_once(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("Ours", kind="fact")
        await engine.sweep()
        assert seen(world) == []
        world.write("mine.md", "Mine\n")
        await engine.sweep()
        await engine.sweep()
        world.write("mine.md", "Mine, longer\n")
        world.write(note.path, world.read(note.path) + b"by hand\n")
        await engine.sweep()
        (world.root / "mine.md").rename(world.root / "yours.md")
        await engine.sweep()
        (world.root / "yours.md").unlink()
        (world.root / note.path).unlink()
        await engine.sweep()
        edits, removals = seen(world)[1:3], seen(world)[4:]
        assert seen(world)[0] == ("stored", "mine.md", None)
        assert sorted(edits) == [("edited", "mine.md", None), ("edited", note.path, None)]
        assert seen(world)[3] == ("moved", "yours.md", "mine.md")
        assert sorted(removals) == [("removed", note.path, None), ("removed", "yours.md", None)]


async def test_changes_while_nothing_ran_are_found_at_the_next_start(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("Ours", kind="fact")
    world.write(note.path, world.read(note.path) + b"by hand\n")
    async with world.engine() as engine:
        assert seen(world) == [("edited", note.path, None)]


async def test_a_new_index_and_our_own_later_write_are_no_edit_of_yours(world: World) -> None:
    world.write("old.md", "From before\n")
    with indexed_vault(world) as room:
        await room.reconciler.reconcile()
        note = room.vault.append(draft("Ours")).file
        await room.writer.index_note(note)
        room.vault.filing.revise(note.record.path, note.text + "more\n", note.record.etag)  # the index isn't told
        await room.reconciler.reconcile()
        assert seen(world) == []


async def test_a_checkout_is_one_change(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_changes, "MOST_A_SWEEP", 5)
    world.write("first.md", "What a vault begins with is no change.\n")
    async with world.engine() as engine:
        for number in range(6):
            world.write(f"n{number}.md", f"{number}\n")
        await engine.sweep()
        assert seen(world) == [("stored", "", None)]
        assert world.vault().changes.changes()[0].count == 6
