"""Pages by a language model: those that it could not write yet are redone, those that it wrote are brought up to date;
and one topic by itself."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_memory.compaction import auto_compactor
from mcp_memory.compaction.rounds import AGAIN_S, FallbackPages
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.text.markdown import frontmatter
from mcp_memory.topics.page import PAGE
from tests.support.keyword_engine import KeywordEngine
from tests.support.stub_endpoint import Answer, StubEndpoint, serving
from tests.support.topics import ALL_AT_ONCE, RAIL, SOON, TEA, told, topic_of
from tests.support.world import World, eventually, until

pytestmark = pytest.mark.anyio

DOWN: Answer = (500, {"error": "overloaded"}, {})
REFUSAL = "I'm sorry, I can't help with that."
SAYS_TEA = "Title: Green tea from Uji, its water and its pot\n\n- Green tea from Uji needs warm water, said the model."
UPDATE = "There is a summary already"


def completion(text: str) -> Answer:
    return 200, {"choices": [{"message": {"role": "assistant", "content": text}}]}, {}


@pytest.fixture
def endpoint() -> Iterator[StubEndpoint]:
    with serving(lambda _: completion(SAYS_TEA)) as endpoint:
        yield endpoint


@asynccontextmanager
async def asking(
    world: World, endpoint: StubEndpoint, *, back_off_s: float = 1, **more: Any
) -> AsyncGenerator[KeywordEngine]:
    model = SummarizerConfig(provider="openai", endpoint=endpoint.address, model="m", back_off_s=back_off_s)
    async with world.engine(**{"topics": ALL_AT_ONCE, "summarizer": model, **more}) as engine:
        yield engine


def page_of(world: World, word: str = "green-tea") -> frontmatter.Document:
    return frontmatter.parse(world.read(f"{topic_of(world, word)}/{PAGE}").decode())


async def test_a_page_that_stands_in_is_marked_reported_and_made_anew(toy_world: World, endpoint: StubEndpoint) -> None:
    endpoint.script = [DOWN]
    async with asking(toy_world, endpoint, back_off_s=600) as engine:
        await told(engine, TEA)
        report = await engine.compact()
        assert len(report.provisional) == 1 and "500" in report.provisional[0]
        assert page_of(toy_world).meta["provisional"] is True and page_of(toy_world).meta["source"] == "extractive"
        before = toy_world.files()
        report = await engine.compact()
        assert toy_world.files() == before and not report.done, "nobody may be asked yet"
        assert len(endpoint.requests) == 1
    spent = toy_world.state / "summarizer.json"
    spent.write_text(json.dumps({**json.loads(spent.read_text()), "silent_until": 0}))
    async with asking(toy_world, endpoint) as engine:
        report = await engine.compact()
        assert len(report.done) == 1 and not report.provisional
        assert "provisional" not in page_of(toy_world).meta and page_of(toy_world).meta["source"] == "m"
        assert "said the model" in page_of(toy_world).body
        undone = await engine.undo_run(report.run)
        assert not undone.left and toy_world.files() == before


async def test_it_is_made_anew_unasked_once_the_model_is_back(toy_world: World, endpoint: StubEndpoint) -> None:
    endpoint.script = [DOWN]
    async with asking(toy_world, endpoint, watching=True, topics=SOON) as engine:
        await told(engine, TEA)
        await eventually(lambda: endpoint.requests and "source: m" in "".join(
            file.read_text() for file in toy_world.root.rglob(PAGE)))  # fmt: skip
        assert len(endpoint.requests) == 2
        await until(engine, lambda status: status["compaction"]["why_idle"] == auto_compactor.NOTHING)


async def test_an_answer_of_no_use_is_not_asked_for_again_and_again(toy_world: World, endpoint: StubEndpoint) -> None:
    endpoint.script = [completion(REFUSAL)] * 9
    async with asking(toy_world, endpoint) as engine:
        await told(engine, TEA)  # all of them are there when it first looks
    async with asking(toy_world, endpoint, watching=True, topics=SOON) as engine:
        for new in ([], RAIL[:1]):  # one note is too few at first, and a run's business soon: neither asks
            await told(engine, new)
            await until(engine, lambda status: (status["compaction"]["next_s"] or 0) > 3600)
            assert len(endpoint.requests) == 1
            assert "pages wait" in (await engine.status())["compaction"]["why_idle"]
        before = toy_world.files()
        report = await engine.compact()
        assert len(endpoint.requests) == 2, "a person may have it tried"
        assert "refused" in report.provisional[0] and toy_world.files() == before


async def test_with_no_language_model_nothing_is_provisional(toy_world: World, endpoint: StubEndpoint) -> None:
    endpoint.script = [DOWN]
    async with asking(toy_world, endpoint) as engine:
        await told(engine, TEA)
        await engine.compact()
    async with toy_world.engine(watching=True, topics=SOON) as engine:
        wait = "pages wait for the language model (1)"
        await until(engine, lambda status: status["compaction"]["why_idle"] == wait)
        assert (await engine.status())["compaction"]["next_s"] is None and not (await engine.compact()).done


async def test_what_was_tried_in_vain_has_its_time() -> None:
    now, asked_in_s = 0.0, 0.0
    provisional = FallbackPages(lambda: asked_in_s, lambda: now)
    assert provisional.retry_in_s() == AGAIN_S
    asked_in_s = 40.0
    assert provisional.retry_in_s() == 40


async def test_a_page_that_a_model_wrote_is_brought_up_to_date(toy_world: World, endpoint: StubEndpoint) -> None:
    async with asking(toy_world, endpoint) as engine:
        await told(engine, TEA)
        await engine.compact()
        await told(engine, ["Green tea from Uji needs water of 80 degrees and a warm pot, says Ada."])
        await engine.compact()
        fresh, update = endpoint.requests
        system, material = (message["content"] for message in update["messages"])
        assert UPDATE in system and UPDATE not in fresh["messages"][0]["content"]
        assert "said the model" in material and "says Ada" in material
        assert material.count("61 degrees") == 1, "in its title alone, since the summary tells it"


@pytest.mark.parametrize("change", ["edited", "forgotten", "moved away", "by a person"])
async def test_where_anything_is_gone_the_page_is_made_afresh(
    toy_world: World, endpoint: StubEndpoint, change: str
) -> None:
    async with asking(toy_world, endpoint) as engine:
        ids = await told(engine, TEA)
        await engine.compact()
        note = next((toy_world.root / topic_of(toy_world, "green-tea")).glob("001-*.md"))
        if change == "edited":
            note.write_text(note.read_text().replace("warm pot", "cold pot"))
        elif change == "forgotten":
            await engine.forget(ids[0])
        elif change == "moved away":
            note.rename(toy_world.root / "elsewhere.md")
        else:
            page = toy_world.root / topic_of(toy_world, "green-tea") / PAGE
            page.unlink()
        await told(engine, ["Green tea from Uji needs water of 80 degrees and a warm pot, says Ada."])
        await engine.compact()
        system, material = (message["content"] for message in endpoint.requests[-1]["messages"])
        assert len(endpoint.requests) == 2 and UPDATE not in system and "said the model" not in material
