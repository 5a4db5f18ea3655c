"""The model at work behind the answers."""

from __future__ import annotations

import anyio
import pytest

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.engine import model as models

from .world import World, eventually, found

pytestmark = pytest.mark.anyio


async def test_words_answer_while_the_model_is_down_and_say_so(toy_world: World) -> None:
    async with toy_world.engine() as engine:
        first = await engine.append("violet teapot", kind="fact")
        assert first.indexed == "full"
        engine.model.embedder.down = True
        second = await engine.append("crimson kettle", kind="fact")
        assert second.indexed == "keywords"
        result = await engine.search("crimson kettle")
        assert result.hits[0].path == second.path
        assert result.degraded
        assert engine.upkeep.status()["model_state"].startswith("failing")
        engine.model.embedder.down = False
        engine.model.wake()
        await eventually(lambda: engine.upkeep.status()["pending"] == 0)
        assert engine.upkeep.status()["model_state"] == "ready"
        assert second.path in await found(engine, "crimson kettle", mode="semantic")


async def test_the_backlog_is_tried_again_by_itself(toy_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "RETRY_S", 0.05)
    async with toy_world.engine() as engine:
        engine.model.embedder.down = True
        await engine.append("violet teapot", kind="fact")
        await eventually(lambda: engine.upkeep.status()["model_state"].startswith("failing"))
        engine.model.embedder.down = False
        await eventually(lambda: engine.upkeep.status()["pending"] == 0)


async def test_no_provider_is_no_reason_to_fail(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append("violet teapot", kind="fact")
        assert receipt.indexed == "keywords"
        result = await engine.search("violet")
        assert result.degraded
        status = engine.upkeep.status()
        assert (status["model"], status["ready"]) == (None, True)
        assert "unavailable" in status["model_state"]


async def test_vectors_stay_when_the_model_goes_for_a_while(toy_world: World) -> None:
    toy_world.write("a.md", "violet teapot")
    async with toy_world.engine() as engine:
        spoken = len(engine.model.embedder.texts)
        assert spoken
    async with toy_world.engine(embedder=EmbedderConfig("none")) as engine:
        assert await found(engine, "violet") == ["a.md"]
    async with toy_world.engine() as engine:
        assert engine.model.embedder.texts == []
        assert await found(engine, "violet", mode="semantic")


async def test_many_at_once_are_all_embedded(toy_world: World) -> None:
    async with toy_world.engine() as engine:
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(lambda n=number: engine.append(f"violet number {n}", kind="fact"))
        await eventually(lambda: engine.upkeep.status()["pending"] == 0)
        assert len(set(await found(engine, "violet", mode="semantic"))) >= 20
