"""Invariant 5: deleting the index loses nothing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.keyword_engine import KeywordEngine
from tests.support.world import EXHAUSTIVE, World, embedded, eventually, made

pytestmark = pytest.mark.anyio

QUESTIONS = ("violet teapot", "what happened on 2026-11-21", "kettle", "deploy failed", "nothing of the sort")


async def answers(engine: KeywordEngine) -> list[Any]:
    told: list[Any] = []
    for question in QUESTIONS:
        result = await engine.search(question, limit=50, include_archived=True)
        told.append([(h.id, h.path, h.start_line, h.end_line, h.snippet, round(h.score, 3)) for h in result.hits])
        told.append(await engine.recall(question))
    return [*told, await engine.recall(), [record.id for record in await engine.notes()]]


async def fill(world: World) -> None:
    world.write("personal/a.md", "# Teapots\n\nThe violet one is cracked.\n\n| a | b |\n|---|---|\n| kettle | pot |\n")
    async with world.engine() as engine:
        ids = [(await engine.append(f"Fact {n} about the kettle", kind="fact")).id for n in range(6)]
        await engine.append("The deploy failed at noon", kind="log", title="Deploy")
        entry = await engine.append("A secret log entry", kind="log")
        await engine.append("The violet teapot is whole again", kind="fact", supersedes=ids[0])
        await engine.forget(ids[1])
        await engine.forget(entry.id)


@pytest.mark.parametrize("loss", ["folder", "database", "words", "garbage"])
async def test_the_same_answers_without_it(toy_world: World, loss: str) -> None:
    await fill(toy_world)
    async with toy_world.engine() as engine:
        before = await answers(engine)
        files = toy_world.files()
    index = toy_world.state / "index"
    match loss:
        case "folder":
            shutil.rmtree(index)
        case "database":
            for file in index.rglob("*"):
                if file.is_file() and "db" in file.name:
                    file.unlink()
        case "words":
            for file in index.rglob("*"):
                if file.is_file() and "db" not in file.name and "sqlite" not in file.name:
                    file.unlink()
        case "garbage":
            for file in index.rglob("*"):
                if file.is_file():
                    file.write_bytes(b"garbage " * 999)
    async with toy_world.engine() as engine:
        assert await answers(engine) == before
    assert toy_world.files() == files


async def test_the_same_answers_by_the_real_model(tmp_path: Path, model_cache: Path) -> None:
    world = made(tmp_path, "auto")
    world.models = model_cache
    await fill(world)
    async with world.engine() as engine:
        assert (await engine.status())["pending"] == 0
        before = await answers(engine)
        near = await engine.append("The cracked one is the violet teapot", kind="fact")
        await embedded(engine)
        await engine.forget(near.id)
        meant = await engine.search("what broke when we released?", mode="semantic", limit=3)
        assert "deploy" in " ".join(hit.snippet for hit in meant.hits).lower()
    (world.root / near.path).unlink()
    shutil.rmtree(world.state / "index")
    async with world.engine() as engine:
        assert await answers(engine) == before


async def test_an_engine_starts_on_whatever_page_is_damaged_and_builds_the_index_anew(world: World) -> None:
    for number in range(40):
        world.write(f"note-{number}.md", f"# Note {number}\n\nThe kettle of shelf {number} whistles.\n" * 4)
    async with world.engine():
        pass
    file = world.state / "index" / "index.db"
    whole, page = file.read_bytes(), 4096
    pages = range(0, len(whole), page)
    assert len(pages) > 15

    async def is_whole(engine: KeywordEngine) -> bool:
        result = await engine.search("kettle", limit=50)
        assert len(result.hits) == 40 or "rebuilt" in (result.degraded or "")
        return len(result.hits) == 40

    for at in pages[:: 1 if EXHAUSTIVE else 6]:
        file.write_bytes(whole[:at] + b"\xa5" * page + whole[at + page :])
        async with world.engine(watching=True) as engine:
            await eventually(lambda engine=engine: is_whole(engine))
            assert not any(finding.fixable for finding in await engine.doctor())
