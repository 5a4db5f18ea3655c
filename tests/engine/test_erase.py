"""Erasing: after it, no file of ours holds the text any more, but for what the answer names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_memory.errors import InvalidInput, NotFound, PreconditionFailed, Refused
from mcp_memory.models import NotePath
from mcp_memory.storage.filesystem import FilesystemBackend
from mcp_memory.transfer.detect import detect_source
from tests.support.world import NOON, World, found

pytestmark = pytest.mark.anyio

CANARY = "canaryxyzzy"
LOG = f"memory/{NOON.date()}.md"


def holders(folder: Path) -> list[str]:
    """Every file that holds the canary, hidden ones too, by content or by name; not the index, whose pages SQLite
    writes anew when it likes."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.parent.name != "index")
    inner = {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
    return sorted(name for name, data in inner.items() if CANARY.encode() in data or CANARY in name)


async def erase(engine, target: str) -> dict:
    planned = await engine.perform("erase", {"target": target})
    done = await engine.perform("erase", {"target": target, "sure": True})
    assert done == planned, "what was shown is what was done"
    return done


async def test_beside_folders_that_are_nested_too_deeply(world: World) -> None:
    deepest = world.write("d/x.txt", "Fine.").parent
    for _ in range(1_100):
        deepest /= "d"
        deepest.mkdir()
    try:
        async with world.engine() as engine:
            await erase(engine, (await engine.append(f"The {CANARY} sings", kind="fact")).id)
            assert not await found(engine, CANARY)
        with pytest.raises(InvalidInput, match="has no Markdown"):
            detect_source(world.root / "d", None, vault=world.root / "elsewhere")
    finally:
        (world.root / "d/x.txt").unlink()
        os.removedirs(deepest)


@pytest.mark.parametrize("state", ["as written", "forgotten", "restored", "changed", "brought back"])
async def test_a_note(world: World, state: str) -> None:
    async with world.engine() as engine:
        kept = await engine.append("A neighbour that stays", kind="fact")
        note = await engine.append(f"The {CANARY} sings", kind="fact")
        before = world.read(note.path)
        if state != "as written":
            await engine.forget(note.id)
        if state == "restored":
            await engine.forget(note.id, restore=True)
        if state == "changed":
            world.write(note.path, world.read(note.path) + b"by hand\n")
        if state == "brought back":
            world.write(note.path, before)
        await engine.sweep()
        assert {each.split("/")[0] for each in holders(world.root.parent)} == {"vault", "state"}
        await erase(engine, note.id)
        assert holders(world.root.parent) == []
        assert await found(engine, CANARY, include_archived=True) == []
        with pytest.raises(NotFound):
            await engine.recall(ids=[note.path])
        with pytest.raises(NotFound):
            await engine.perform("erase", {"target": note.path})
        assert await found(engine, "neighbour") == [kept.path]
        again = await engine.append(f"The {CANARY} sings", kind="fact")
        assert again.outcome == "created"
    async with world.engine() as engine:
        assert await found(engine, CANARY) == [again.path]


@pytest.mark.parametrize("state", ["as written", "forgotten", "lost"])
async def test_an_entry_of_a_log(world: World, state: str) -> None:
    async with world.engine() as engine:
        await engine.append("Before", kind="log")
        stale = world.read(LOG)
        entry = await engine.append(f"The {CANARY} sings", kind="log")
        await engine.append("After", kind="log")
        if state == "forgotten":
            await engine.forget(entry.id)
        if state == "lost":
            world.write(LOG, stale)
        await erase(engine, entry.id)
        assert holders(world.root.parent) == []
        assert CANARY not in str(await engine.lost())
        others = ["Before"] if state == "lost" else ["Before", "After"]
        assert [word for word in ("Before", "After") if word.encode() in world.read(LOG)] == others
        assert entry.id.partition("#")[2].encode() not in world.read(LOG), "nor the hash of what it said"
        assert set(await found(engine, "before")) == {LOG}
        with pytest.raises(NotFound):
            await engine.perform("erase", {"target": entry.id})


async def test_a_whole_log_and_a_personal_note(world: World) -> None:
    world.with_home("Agent").write("diary.md", f"{CANARY}\n")
    async with world.engine() as engine:
        entry = await engine.append(f"The {CANARY} sings", kind="log")
        await engine.forget(entry.id)
        await erase(engine, entry.path)
        await erase(engine, "diary.md")
        assert holders(world.root.parent) == []


async def test_conflict_copies_go_and_the_rest_is_named(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append(f"The {CANARY} sings", kind="fact")
        stem = note.path.removesuffix(".md")
        world.write(f"{stem} (conflict 2026-11-21 10.00.00).md", world.read(note.path) + b"x")
        world.write(f"{stem}.sync-conflict-20261121-100000-ABCDEFG.md", world.read(note.path) + b"y")
        world.write("elsewhere.md", world.read(note.path))
        swap = world.write(f"{note.path}~", world.read(note.path))
        (world.root / ".git").mkdir()
        await engine.sweep()
        answer = await erase(engine, note.path)
        assert sum("the file " in line for line in answer["erased"]) == 3
        assert holders(world.root.parent) == ["vault/elsewhere.md", f"vault/{note.path}~"]
        beyond = "\n".join(answer["beyond"])
        assert "mcp-memory erase elsewhere.md" in beyond
        assert str(swap) in beyond
        assert f"git repository {world.root}" in beyond
        assert "backups" in beyond


async def test_a_copy_goes_alone(world: World) -> None:
    """The note that it was copied from stays the agents', and can still be restored."""
    async with world.engine() as engine:
        note = await engine.append("The heron fishes", kind="fact")
        before = world.read(note.path)
        await engine.forget(note.id)
        for copy in ("elsewhere.md", f"{note.path.removesuffix('.md')} (conflict 2026-11-21 10.00.00).md"):
            world.write(copy, before)
            await engine.sweep()
            await erase(engine, copy)
            assert copy not in world.files()
        await engine.forget(note.path, restore=True)
        assert world.read(note.path) == before
        (world.root / note.path).rename(world.root / "moved.md")
        await engine.sweep()
        with pytest.raises(NotFound):
            await engine.perform("erase", {"target": note.path})
        await engine.forget("moved.md")


async def test_what_earlier_writes_displaced_goes_too(world: World) -> None:
    """Held files and leftovers of a killed process: hidden, with the old bytes."""
    async with world.engine() as engine:
        note = await engine.append(f"The {CANARY} sings", kind="fact")
        await engine.forget(note.id)
        assert any(name.endswith(".mcpm") for name in holders(world.root)), "held, as it should be"
        await erase(engine, note.path)
        assert holders(world.root) == []


async def test_an_editor_that_saves_meanwhile_keeps_its_save(tmp_path: Path) -> None:
    """Through a descriptor that it opened before: those bytes nobody has seen, so nobody wanted them gone."""
    backend = FilesystemBackend(tmp_path, marker=None)
    written = backend.write(NotePath("a.md"), b"one", None)
    with (tmp_path / "a.md").open("r+b") as editor:
        written = backend.write(NotePath("a.md"), b"two", written.etag)
        editor.write(b"its own save")
        editor.flush()
        backend.erase(NotePath("a.md"), written.etag)
    [copy] = tmp_path.iterdir()
    assert copy.read_bytes() == b"its own save"
    assert "conflict" in copy.name
    with pytest.raises(PreconditionFailed):
        backend.erase(NotePath(copy.name), written.etag)


async def test_a_source_is_not_ours(world: World, tmp_path: Path) -> None:
    async with world.engine() as engine:
        with pytest.raises(Refused, match="read-only source"):
            await engine.perform("erase", {"target": "@team/x.md"})
        with pytest.raises(NotFound):
            await engine.perform("erase", {"target": "notes/none.md", "sure": True})
