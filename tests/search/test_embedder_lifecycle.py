"""The model at work behind the answers."""

from __future__ import annotations

import anyio
import pytest

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.search import embedder_lifecycle as models
from tests.support.keyword_engine import KeywordEngine
from tests.support.toy import OPENING
from tests.support.world import World, embedded, eventually, found, until

pytestmark = pytest.mark.anyio

HEAVY = EmbedderConfig("toy", "heavy", unload_after_s=0.1)


async def test_words_answer_while_the_model_is_down_and_say_so(toy_world: World) -> None:
    async with toy_world.engine() as engine:
        await engine.append("violet teapot", kind="fact")
        await embedded(engine)
        OPENING.toy.down = True
        second = await engine.append("crimson kettle", kind="fact")
        assert second.indexed == "keywords"
        result = await engine.search("crimson kettle")
        assert result.hits[0].path == second.path
        assert result.degraded
        await until(engine, lambda status: status["model_state"].startswith("failing"))
        OPENING.toy.down = False
        await engine.sweep()
        await embedded(engine)
        assert (await engine.status())["model_state"] == "ready"
        assert second.path in await found(engine, "crimson kettle", mode="semantic")


async def test_the_backlog_is_tried_again_by_itself(toy_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "RETRY_S", 0.05)
    async with toy_world.engine() as engine:
        OPENING.toy.down = True
        await engine.append("violet teapot", kind="fact")
        await until(engine, lambda status: status["model_state"].startswith("failing"))
        OPENING.toy.down = False
        await embedded(engine)


async def test_no_provider_is_no_reason_to_fail(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append("violet teapot", kind="fact")
        assert receipt.indexed == "keywords"
        result = await engine.search("violet")
        assert result.degraded
        status = await engine.status()
        assert (status["model"], status["ready"]) == (None, True)
        assert "unavailable" in status["model_state"]


async def test_vectors_stay_when_the_model_goes_for_a_while(toy_world: World) -> None:
    toy_world.write("a.md", "violet teapot")
    async with toy_world.engine() as engine:
        spoken = len(OPENING.toy.texts)
        assert spoken
    async with toy_world.engine(embedder=EmbedderConfig("none")) as engine:
        assert await found(engine, "violet") == ["a.md"]
    async with toy_world.engine() as engine:
        assert OPENING.toy.texts == []
        assert await found(engine, "violet", mode="semantic")


async def test_many_at_once_are_all_embedded(toy_world: World) -> None:
    async with toy_world.engine() as engine:
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(lambda n=number: engine.append(f"violet number {n}", kind="fact"))
        await embedded(engine)
        assert len(set(await found(engine, "violet", mode="semantic"))) >= 20


@pytest.fixture
def opening():
    OPENING.count = 0
    yield OPENING
    OPENING.broken = False
    OPENING.open.set()


async def resting(engine: KeywordEngine) -> None:
    await until(engine, lambda status: status["model_state"] == "resting")


async def test_an_idle_model_rests_and_is_back_for_the_next_question(toy_world: World, opening) -> None:
    async with toy_world.engine(embedder=HEAVY) as engine:
        receipt = await engine.append("violet teapot", kind="fact")
        await resting(engine)
        status = await engine.status()
        assert status["model"] == "toy heavy", "it is at rest, not gone"
        assert opening.count == 1
        result = await engine.search("violet", mode="semantic")
        assert opening.count == 2
        assert (result.hits[0].path, result.degraded) == (receipt.path, None)
        await resting(engine)
        assert "teapot" in await engine.recall("violet")
        assert opening.count == 3


async def test_a_sweep_without_news_leaves_it_at_rest(toy_world: World, opening) -> None:
    async with toy_world.engine(embedder=HEAVY) as engine:
        await engine.append("violet teapot", kind="fact")
        await resting(engine)
        await engine.sweep()
        with anyio.move_on_after(0.3):
            await eventually(lambda: opening.count > 1)
        assert (opening.count, (await engine.status())["model_state"]) == (1, "resting")


async def test_what_is_written_meanwhile_is_embedded(toy_world: World, opening) -> None:
    async with toy_world.engine(embedder=HEAVY) as engine:
        await resting(engine)
        receipt = await engine.append("crimson kettle", kind="fact")
        assert receipt.indexed == "keywords"
        await embedded(engine)
        assert receipt.path in await found(engine, "crimson", mode="semantic")
        await resting(engine)
        toy_world.write("by-hand.md", "a violet teapot")
        await engine.sweep()
        await embedded(engine)


async def test_a_session_start_calls_it_back(toy_world: World, opening) -> None:
    async with toy_world.engine(embedder=HEAVY) as engine:
        await resting(engine)
        await engine.recall()
        await eventually(lambda: opening.count == 2)


async def test_words_answer_where_it_is_slow_to_come_back(toy_world: World, opening) -> None:
    async with toy_world.engine(embedder=HEAVY) as engine:
        receipt = await engine.append("violet teapot", kind="fact")
        await resting(engine)
        opening.open.clear()
        result = await engine.search("violet")
        assert result.hits[0].path == receipt.path
        assert result.degraded == "keywords only: the embedding model is being loaded again"
        opening.open.set()

        async def whole() -> bool:
            return (await engine.search("violet")).degraded is None

        await eventually(whole)
        assert opening.count == 2, "all who waited, waited for one"


async def test_one_that_cannot_come_back_is_reported_and_tried_again(
    toy_world: World, opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "RETRY_S", 0.05)
    async with toy_world.engine(embedder=HEAVY) as engine:
        await engine.append("violet teapot", kind="fact")
        await resting(engine)
        opening.broken = True
        result = await engine.search("violet")
        assert result.hits
        assert result.degraded == "keywords only: the embedding model is unavailable"
        assert (await engine.status())["model_state"] == "unavailable: the toy box is locked"
        opening.broken = False

        async def whole() -> bool:
            return (await engine.search("violet")).degraded is None

        await eventually(whole)


async def test_nothing_rests_where_that_frees_nothing_or_is_not_wanted(toy_world: World, opening) -> None:
    for config in (EmbedderConfig("toy", unload_after_s=0.1), EmbedderConfig("toy", "heavy", unload_after_s=0)):
        async with toy_world.engine(embedder=config) as engine:
            with anyio.move_on_after(0.4):
                await until(engine, lambda status: status["model_state"] != "ready")
            assert (await engine.status())["model_state"] == "ready"
