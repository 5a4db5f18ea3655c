"""A loss that nobody has accepted: what counts as one, and that nothing but a person or the files' return ends it."""

from __future__ import annotations

import shutil

import pytest

from mcp_memory.errors import IndexUnavailable
from mcp_memory.indexing.index_rows import IndexedFile
from mcp_memory.indexing.rebuild import EmbeddingBacklog, GenerationBuilder
from mcp_memory.indexing.reconciler import vanished
from mcp_memory.models import Etag, NotePath
from tests.support.indexed_vault import indexed_vault
from tests.support.world import World, found, paths

pytestmark = pytest.mark.anyio


def test_each_arrival_vouches_for_one_of_its_bytes() -> None:
    known = {NotePath(path): IndexedFile("s", Etag(etag)) for path, etag in (("a", "1"), ("b", "1"), ("c", "2"))}
    gone = list(known)
    assert vanished(gone, known, []) == ["a", "b", "c"]
    assert vanished(gone, known, [Etag("1"), Etag("3")]) == ["b", "c"]
    assert vanished(gone, known, [Etag("2"), Etag("1"), Etag("1")]) == []


@pytest.fixture
def crowd(world: World) -> World:
    """A vault of 60 notes, each with a word of its own."""
    world.with_home("")
    for number in range(60):
        world.write(f"crowd/n{number}.md", f"uniqueword{number} stands here")
    return world


async def test_what_was_moved_has_not_vanished(crowd: World) -> None:
    async with crowd.engine() as engine:
        (crowd.root / "crowd").rename(crowd.root / "people")
        assert (await engine.sweep())["gone"] == 60
        assert (await engine.status())["pruning_paused"] is None
        assert await found(engine, "uniqueword7") == ["people/n7.md"]
        assert len(paths(engine)) == 60


async def test_what_returns_elsewhere_leaves_its_old_place_while_the_rest_is_missed(crowd: World) -> None:
    away = crowd.root.with_name("away")
    async with crowd.engine() as engine:
        (crowd.root / "crowd").rename(away)
        await engine.sweep()
        assert "60 of 60" in (await engine.status())["pruning_paused"]
        (away / "n7.md").rename(crowd.root / "here.md")
        await engine.sweep()
        assert "59 of 60" in (await engine.status())["pruning_paused"]
        assert await found(engine, "uniqueword7") == ["here.md"]
        assert await found(engine, "uniqueword8") == ["crowd/n8.md"]
        away.rename(crowd.root / "elsewhere")
        await engine.sweep()
        assert (await engine.status())["pruning_paused"] is None
        assert await found(engine, "uniqueword8") == ["elsewhere/n8.md"]
        assert len(paths(engine)) == 60


async def test_a_copy_that_was_there_before_vouches_for_none(world: World) -> None:
    world.with_home("")
    for number in range(60):
        world.write(f"n{number}.md", "the same in each")
    async with world.engine() as engine:
        for number in range(59):
            (world.root / f"n{number}.md").unlink()
        for _ in range(3):
            await engine.sweep()
            assert "59 of 60" in (await engine.status())["pruning_paused"]
        assert len(paths(engine)) == 60


async def test_no_new_generation_is_built_from_a_vault_that_has_just_gone(crowd: World) -> None:
    with indexed_vault(crowd) as room:
        await room.reconciler.reconcile()
        shutil.rmtree(crowd.root / "crowd")
        backlog = EmbeddingBacklog(room.index, room.health)
        builder = GenerationBuilder(room.vault, room.index, room.writer, backlog, room.loss, room.health)
        with pytest.raises(IndexUnavailable, match="notes are missing"):
            await builder.fill(room.index.begin("another", "", 0))
        assert room.texts("crowd/n7.md")
    async with crowd.engine() as engine:
        assert await found(engine, "uniqueword7") == ["crowd/n7.md"]
