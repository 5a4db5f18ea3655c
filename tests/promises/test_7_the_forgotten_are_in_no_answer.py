"""Invariant 7: what was forgotten is in no answer from the reply on, and its file is intact."""

from __future__ import annotations

import json

import pytest

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.errors import McpMemoryError
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import EXHAUSTIVE, World

pytestmark = pytest.mark.anyio

CANARY = "canaryxyzzy"


async def everything_said(engine: KeywordEngine, target: str, path: str) -> str:
    """All that the engine can be brought to say about the canary."""
    asked = [
        *[("search", {"query": q, "mode": mode, "limit": 1000, "include_archived": True, "explain": explain})
          for q in (CANARY, "bird seed", "neighbour", "what sings at dawn")
          for mode in ("hybrid", "keyword", "semantic") for explain in {True, not EXHAUSTIVE}],
        *[("recall", {"query": q, "budget_tokens": 50_000}) for q in (CANARY, "bird seed", "neighbour")],
        ("recall", {}), ("recall", {"phase": "start"}), ("recall", {"ids": [target]}), ("recall", {"path": path}),
        ("recall", {"path": path, "lines": "1-"}), ("recall", {"path": "links.md"}), ("status", {}), ("doctor", {}),
        ("append", {"content": "bird seed for the one that sings at dawn", "kind": "fact"}), ("reindex", {}),
    ]  # fmt: skip
    said: list[str] = []
    for operation, arguments in asked:
        try:
            answer = json.dumps(await engine.perform(operation, arguments), ensure_ascii=False)
            said.append(answer.replace(f'"{CANARY}"', ""))
        except McpMemoryError as error:
            said.append(str(error))
    try:
        said.append(await engine.recall(ids=[target], budget_tokens=100_000))
    except McpMemoryError as error:
        said.append(str(error))
    said += [f"{record.title} {record.tags}" for record in await engine.notes()]
    return "\n".join(said)


@pytest.mark.parametrize("kind", ["fact", "log", *(["preference"] if EXHAUSTIVE else [])])
@pytest.mark.parametrize("then", ["at once", "swept", "restarted", "without the index", "another model"])
async def test_the_canary_is_silent(toy_world: World, kind: str, then: str) -> None:
    world = toy_world
    async with world.engine() as engine:
        await engine.append("a neighbour before", kind=kind)
        note = await engine.append(
            f"bird seed for the {CANARY} that sings at dawn", kind=kind, title=f"My {CANARY}", tags=["t"]
        )
        await engine.append("a neighbour after", kind=kind)
        world.write("links.md", f"See [it](./{note.path}).")
        await engine.sweep()
        assert CANARY in await everything_said(engine, note.id, note.path)
        before = world.files()
        await engine.forget(note.id)
        if then in {"at once", "swept"}:
            if then == "swept":
                await engine.sweep()
            assert CANARY not in named_away(await everything_said(engine, note.id, note.path), note.path)
    if then == "without the index":
        for file in (world.state / "index").iterdir():
            file.unlink()
    model = EmbedderConfig("toy", "other" if then == "another model" else "")
    async with world.engine(embedder=model) as engine:
        assert CANARY not in named_away(await everything_said(engine, note.id, note.path), note.path)
        assert f"the {CANARY} that sings at dawn".encode() in world.read(note.path)
        await engine.forget(note.id, restore=True)
        assert world.read(note.path) == before[note.path]
        assert CANARY in named_away(await everything_said(engine, note.id, note.path), note.path)


def named_away(said: str, path: str) -> str:
    """The caller's own words may come back in an error: the path that was asked for."""
    return said.replace(path, "").replace(path.rpartition("/")[2], "")


async def test_a_copy_that_sync_brings_back_stays_forgotten(toy_world: World) -> None:
    async with toy_world.engine() as engine:
        note = await engine.append(f"the {CANARY} sings", kind="fact")
        await engine.forget(note.id)
        marked = toy_world.read(note.path)
        toy_world.write("notes/fact/copy (conflicted copy).md", marked)
        await engine.sweep()
        assert CANARY not in named_away(await everything_said(engine, note.id, note.path), note.path)


@pytest.mark.parametrize(("kind", "where"), [("fact", "in its place"), ("fact", "beside it"), ("log", "in its place")])
@pytest.mark.parametrize("then", ["swept", "without the index"])
async def test_the_very_bytes_that_sync_brings_back_stay_forgotten(
    toy_world: World, kind: str, where: str, then: str
) -> None:
    """Another device that knows nothing of it, or an editor that had the note open, saves what it has."""
    world = toy_world
    async with world.engine() as engine:
        await engine.append("a neighbour before", kind=kind)
        note = await engine.append(f"bird seed for the {CANARY} that sings at dawn", kind=kind, title="At dawn")
        unmarked = world.read(note.path)
        place = note.path if where == "in its place" else "notes/fact/brought back.md"
        if where == "beside it":
            world.write(place, unmarked)  # it is there already, and goes with the other
            await engine.sweep()
        await engine.forget(note.id)
        assert CANARY not in named_away(await everything_said(engine, note.id, place), place)
        world.write(place, unmarked)
        if then == "swept":
            await engine.sweep()
            assert CANARY not in named_away(await everything_said(engine, note.id, place), place)
    if then == "without the index":
        for file in (world.state / "index").iterdir():
            file.unlink()
    async with world.engine() as engine:
        assert CANARY not in named_away(await everything_said(engine, note.id, place), place)
        assert world.read(place) == unmarked, "a sweep changes no byte"
        # What somebody has changed is a new decision of theirs; and a restore is one of ours.
        if where == "beside it":
            world.write(place, unmarked + b"It was a parrot.\n")
            await engine.sweep()
            assert CANARY in named_away(await everything_said(engine, note.id, place), place)
        await engine.forget(note.id, restore=True)
        assert world.read(note.path) == unmarked
        assert CANARY in named_away(await everything_said(engine, note.id, note.path), note.path)
