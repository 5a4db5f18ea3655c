"""A search never waits long for an embedding endpoint that is down, and notices by itself that it is back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest

from mcp_memory.embedders import guards
from mcp_memory.embedders.base import EmbedderConfig
from tests.support.keyword_engine import KeywordEngine
from tests.support.stub_endpoint import Answer, StubEndpoint, serving
from tests.support.world import World, embedded, until

pytestmark = pytest.mark.anyio

AT_ONCE_S = 0.7
"""On a busy machine; a search that waited for its endpoint took 5 s."""


def good(request: dict[str, Any]) -> Answer:
    vectors = [{"index": at, "embedding": [float(len(text)), 1.0]} for at, text in enumerate(request["input"])]
    return 200, {"data": vectors}, {}


async def ask(engine: KeywordEngine, question: str) -> tuple[bool, float]:
    """Whether words alone answered, and after how long."""
    begun = monotonic()
    result = await engine.search(question)
    assert result.hits
    return result.degraded is not None, monotonic() - begun


def hang(gate: threading.Event) -> Callable[[dict[str, Any]], Answer]:
    def step(request: dict[str, Any]) -> Answer:
        assert gate.wait(60)
        return good(request)

    return step


def stop(endpoint: StubEndpoint) -> None:
    endpoint.server.shutdown()
    endpoint.server.server_close()


@pytest.mark.parametrize("fault", ["hangs", "503", "garbage", "drops"])
async def test_words_answer_while_an_endpoint_is_down_and_it_is_asked_again_in_the_background(
    world: World, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guards, "PAUSE_S", 0.2)
    gate = threading.Event()
    steps = {"hangs": hang(gate), "503": (503, {}, {"Retry-After": "60"}), "garbage": (200, b"?", {}), "drops": None}
    with serving(good) as endpoint:
        config = EmbedderConfig(provider="openai", endpoint=endpoint.address, model="m", timeout_s=3)
        async with world.engine(embedder=config) as engine:
            await engine.append("A kiln fires at 1200 degrees", kind="fact")
            await embedded(engine)
            assert not (await ask(engine, "kiln zero"))[0]
            endpoint.script = [steps[fault]] * 40
            first, _ = await ask(engine, "kiln one")
            await until(engine, lambda status: status["model_state"] != "ready")
            for question in ("kiln two", "kiln three", "kiln four"):
                degraded, seconds = await ask(engine, question)
                assert first and degraded and seconds < AT_ONCE_S
            gate.set()
            endpoint.script.clear()
            await until(engine, lambda status: status["model_state"] == "ready")
            assert not (await ask(engine, "kiln five"))[0]


async def test_an_endpoint_that_nothing_listens_on_costs_no_search_any_time(world: World) -> None:
    with serving(good) as endpoint:
        config = EmbedderConfig(provider="openai", endpoint=endpoint.address, model="m")
        async with world.engine(embedder=config) as engine:
            await engine.append("A kiln fires at 1200 degrees", kind="fact")
            await embedded(engine)
            stop(endpoint)
            endpoint.script = [None] * 9  # connections that are still open
            for question in ("kiln one", "kiln two", "kiln three"):
                degraded, seconds = await ask(engine, question)
                assert degraded and seconds < AT_ONCE_S
