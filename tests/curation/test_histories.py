"""Random histories of dreaming, ticks, decay and pages: no note becomes unreachable, and taken back in reverse
they give the first bytes. Those of compaction are in `tests/promises/test_8_each_note_is_led_to_once.py`."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest

from mcp_memory.curation.config import DecayConfig
from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.jobs.job import JobsConfig
from mcp_memory.recall.config import RecallConfig
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio
DAYS = ("2026-11-11", "2026-11-12", "2026-11-13", "2026-11-14")
MEMORY = "# Memory\n\n" + "".join(f"- House rule {n} of the mill\n" for n in range(9))


async def reachable(engine: KeywordEngine) -> set[str]:
    """What a search with `include_archived` finds of the mill's notes, by their number."""
    found = await engine.search("mill", limit=200, include_archived=True, project="*", mode="keyword")
    return {word for hit in found.hits for word in hit.snippet.replace("\n", " ").split() if word.isdigit()}


async def step(engine: KeywordEngine, world: World, chance: random.Random) -> tuple[str, Any] | None:
    """One run of a job or a person's ticks, and what takes it back."""
    match chance.randrange(3):
        case 0:
            before = world.files()
            run = (await engine.perform("dream", {}))["run"]
            return ("dream", run) if world.files() != before else None
        case 1:
            wanted = [one["id"] for one in await engine.waiting("archive") if chance.random() < 0.5]
            return "archive", await engine.archive(wanted)
        case _:
            if (page := world.root / "DREAMS.md").exists():
                before = page.read_text()
                lines = [line.replace("- [ ]", f"- [{chance.choice('x- ')}]") for line in before.split("\n")]
                world.write("DREAMS.md", "\n".join(lines))
                return "ticks", before
            return None


async def take_back(engine: KeywordEngine, world: World, what: str, done: Any) -> None:
    if what == "ticks":
        world.write("DREAMS.md", done)
    elif what == "archive":
        for path in reversed(done):
            await engine.perform("restore", {"target": path})
    else:
        with suppress(NotFound, InvalidInput):  # it only took lines off the page, or all it did is taken back
            assert (await engine.undo_run(done)).left == []


@pytest.mark.parametrize("seed", range(10))
async def test_nothing_is_lost_and_all_comes_back(world: World, seed: int) -> None:
    chance = random.Random(seed)
    settings = {"decay": DecayConfig(over_days=0), "recall": RecallConfig(memory_lines=6)}
    async with world.engine(jobs=JobsConfig(enabled=False), **settings) as engine:
        for day in DAYS:
            said = "".join(f"## 1{n}:00 T\n\nNever stop mill {n} at night.\n\n" for n in range(3))
            world.write(f"memory/{day}.md", f"# {day}\n\n{said}")
        world.write("MEMORY.md", MEMORY)
        tasks = [(await engine.append(f"Turn mill {20 + n}", kind="task", expires="2026-11-22")).path for n in range(4)]
        await engine.append("Mill 30: " + ", ".join(f"[[{path}]]" for path in tasks), kind="fact")
        world.later(days=2)
        await engine.sweep()
        first, known, done = world.files(), await reachable(engine), list[tuple[str, Any]]()
        assert len(known) >= 3 + 4 + 1
        for _ in range(9):
            done += filter(None, [await step(engine, world, chance)])
            world.later(minutes=1)
            for job in ("digests", "pages"):
                await engine.perform("jobs", {"action": "run", "name": job})
            assert await reachable(engine) >= known
        assert done
        for what, how in reversed(done):
            await take_back(engine, world, what, how)
        pages = ("summaries/", "DREAMS.md")
        kept = {path: data for path, data in world.files().items() if not path.startswith(pages)}
        gone = {path for path in kept.keys() - first.keys() if b"\nstatus: deleted\n" not in kept[path]}
        assert not gone and {path: kept.get(path) for path in first} == first
