"""Another model, and back again: what was embedded is not embedded again, unless it has been too long."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcp_memory.embedders.base import EmbedderConfig
from tests.support.toy import OPENING
from tests.support.world import World

pytestmark = pytest.mark.anyio

NOTES = {name: f"A {name} teapot" for name in ("violet", "green", "amber")}


@pytest.fixture
def vault(toy_world: World) -> World:
    for name, text in NOTES.items():
        toy_world.write(f"{name}.md", text)
    return toy_world


async def embedded_by(world: World, model: str) -> Sequence[str]:
    """The notes that the model was asked to embed when it came into use."""
    async with world.engine(embedder=EmbedderConfig("toy", model)) as engine:
        assert (await engine.status())["pending"] == 0
        return sorted(name for name in [*NOTES, "new"] if any(name in text for text in OPENING.toy.texts))


async def test_the_vectors_of_an_earlier_model_are_used_again(vault: World) -> None:
    assert await embedded_by(vault, "one") == sorted(NOTES)
    assert await embedded_by(vault, "two") == sorted(NOTES)
    vault.write("new.md", "A new teapot")
    assert await embedded_by(vault, "one") == ["new"]
    assert await embedded_by(vault, "two") == ["new"]


async def test_only_the_latest_models_keep_theirs(vault: World) -> None:
    for model in ("one", "two", "three", "four"):
        assert await embedded_by(vault, model) == sorted(NOTES)
    assert await embedded_by(vault, "three") == []
    assert await embedded_by(vault, "one") == sorted(NOTES)


async def test_an_earlier_model_keeps_nothing_of_an_erased_note(vault: World) -> None:
    await embedded_by(vault, "one")
    async with vault.engine(embedder=EmbedderConfig("toy", "two")) as engine:
        await engine.perform("erase", {"target": "violet.md", "sure": True})
    vault.write("violet.md", NOTES["violet"])
    assert await embedded_by(vault, "one") == ["violet"]
