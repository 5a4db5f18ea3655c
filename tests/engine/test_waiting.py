"""What waits for a decision, bounded and with the notes nearby, for lists that have to come at once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.extraction.talks import person, take
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio


async def waiting(engine: KeywordEngine, **wanted: Any) -> list[dict[str, Any]]:
    return (await engine.perform("waiting", wanted))["waiting"]


def propose(world: World, number: int, text: str) -> None:
    world.write(f"_inbox/{number}.md", f"---\nid: 01KDZZZZZZZZZZZZZZZZZZZZ{number:02}\n---\n\n{text}\n")


async def test_a_proposal_comes_with_the_notes_that_share_most_of_its_words(world: World) -> None:
    world.with_home("")
    propose(world, 1, "Prefer small commits with the reason in the body.")
    propose(world, 2, "Quartz inversion cracks large plates.")
    async with world.engine() as engine:
        near = await engine.append("Small commits, each with the reason in its body.", kind="preference")
        await engine.append("The body of the kiln is of brick.", kind="fact")
        items = {one["text"].split()[0]: one for one in await waiting(engine, near=True, limit=5)}
        assert [note["id"] for note in items["Prefer"]["near"]] == [near.id]
        assert items["Prefer"]["near"][0]["text"] == "Small commits, each with the reason in its body."
        assert not items["Quartz"]["near"]
        assert not any(one["near"] for one in await waiting(engine, limit=5))


async def test_a_limit_applies_to_each_kind(world: World) -> None:
    world.with_home("")
    for number in range(3):
        propose(world, number, f"Prefer option number {number}.")
    async with world.engine() as engine:
        await take(engine, [person("Always answer in metric units.", 10), person("Never use tabs in YAML.", 90)])
        kinds = [one["what"] for one in await waiting(engine, limit=2)]
        assert sorted(kinds) == ["candidate", "candidate", "stored", "stored"]
        (latest,) = await waiting(engine, only=["stored"], limit=1)
        assert "tabs" in latest["text"]


async def test_doubles_are_decided_though_the_list_was_bounded(world: World) -> None:
    async with world.engine() as engine:
        for end in (".", "!", " ;"):
            await engine.append(f"Use uv, not pip, in every Python project{end}", kind="preference")
        await engine.sweep()
        assert await engine.waiting("double")
        (item,) = await waiting(engine, only=["double"], limit=1)
        await engine.review("keep", item["id"], note=item["notes"][0]["id"])
        assert not await engine.waiting("double")
