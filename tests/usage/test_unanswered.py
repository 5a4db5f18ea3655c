"""Questions that memory can't answer are listed in their words, and dropped when they must be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_memory.engine.engine import caller_named
from mcp_memory.errors import DeadlineExceeded, StorageFailed
from mcp_memory.recall.config import RecallConfig
from mcp_memory.usage import unanswered
from tests.support.briefings import PORT, QUESTION, told
from tests.support.keyword_engine import KeywordEngine
from tests.support.secret_texts import SECRETS
from tests.support.world import World

pytestmark = pytest.mark.anyio

UNKNOWN = "who waters the plants in the greenhouse during the holidays?"
AGAIN = "during the holidays, who waters the plants in the greenhouse?"
OTHERS = ("how tall is the old lighthouse?", "when does the bakery in Tromsø open?")
DATABASE = "We use PostgreSQL as our database, because several services write at once."
BAKERY = "The bakery on the corner sells rye bread on Fridays."
ORDERS = "The orders live in PostgreSQL 16 since March."
WANTED = "what did we decide about the retention of invoices in the archive last spring?"


@pytest.fixture
def world(tmp_path: Path, model_cache: Path) -> World:
    return World(tmp_path / "vault", tmp_path / "state", model_cache, "auto")


async def listed(engine: KeywordEngine) -> list[dict[str, Any]]:
    return (await engine.perform("stats", {"unanswered": True}))["unanswered"]


async def search_as(client: str, engine: KeywordEngine, question: str) -> None:
    await engine.ask("search", caller_named(client), query=question, project="shop")


async def words(engine: KeywordEngine) -> set[str]:
    return {one["words"] for one in await listed(engine)}


async def test_questions_of_one_project_that_mean_the_same_are_one_line_and_the_most_asked_come_first(
    world: World,
) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact", project="shop")
        await engine.search(QUESTION, project="shop")
        await engine.search(UNKNOWN, tags=["garden"])  # the filter may be why
        assert await listed(engine) == []
        await engine.search(UNKNOWN, project="home")
        await engine.search(UNKNOWN, project="shop")
        world.later(days=2)
        await engine.recall(AGAIN, project="shop")
        assert await listed(engine) == [
            {"words": AGAIN, "project": "shop", "times": 2, "last": "2026-11-23"},
            {"words": UNKNOWN, "project": "home", "times": 1, "last": "2026-11-21"},
        ]
        for session in ("codex/one", "codex/two", "codex/two"):
            assert await told(engine, session, WANTED, "shop") == ""
        assert await told(engine, "codex/one", "rename the variable in this loop", "shop") == ""
        assert await told(engine, "codex/one", QUESTION, "shop")
        assert (await listed(engine))[0]["times"] == 3
    async with world.engine() as engine:
        assert len(await listed(engine)) == 3
        world.later(days=29)
        assert len(await listed(engine)) == 2, "30 days after it was asked, a question is gone"


async def test_a_secret_is_never_kept_and_no_word_if_that_is_turned_off(world: World) -> None:
    secret = SECRETS["AWS access key"][0]
    async with world.engine() as engine:
        await engine.search(f"{UNKNOWN} with {secret}")
        (kept,) = await words(engine)
        assert kept.startswith(UNKNOWN) and secret not in kept
    assert b"greenhouse" in (world.state / "usage.db").read_bytes()
    async with world.engine(recall=RecallConfig(keep_words=False)) as engine:
        await engine.search(OTHERS[0])
        assert await listed(engine) == []
    held = (world.state / "usage.db").read_bytes()
    assert not any(text in held for text in (b"greenhouse", b"lighthouse", secret.encode()))


async def test_erasing_a_note_drops_the_questions_and_fails_whole_if_it_cannot(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("The station has two platforms.", kind="fact")
        await engine.search(UNKNOWN)
        assert await words(engine) == {UNKNOWN}
        counts = world.state / "usage.db"
        counts.rename(world.state / "kept.db")
        counts.mkdir()
        with pytest.raises(StorageFailed):
            await engine.perform("erase", {"target": note.path, "sure": True})
        assert (world.root / note.path).exists()
        counts.rmdir()
        (world.state / "kept.db").rename(counts)
        await engine.perform("erase", {"target": note.path, "sure": True})
        assert await listed(engine) == []
    assert b"greenhouse" not in (world.state / "usage.db").read_bytes()


async def test_the_list_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unanswered, "MOST_ROWS", 2)
    async with world.engine() as engine:
        for asked in (UNKNOWN, *OTHERS):
            await engine.search(asked)
        assert await words(engine) == {*OTHERS}


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_taking_back_empties_the_list_whoever_asked(world: World, *, is_restarted: bool) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact", project="shop")
        await told(engine, "claude-code/one", WANTED, "shop")
        await search_as("claude-code", engine, UNKNOWN)  # it doesn't say in which session
        await engine.recall(OTHERS[0])
        assert await words(engine) == {WANTED, UNKNOWN, OTHERS[0]}
        if not is_restarted:
            await told(engine, "claude-code/one", "forget what I just said", "shop")
            assert await listed(engine) == []
    if is_restarted:
        async with world.engine() as engine:
            await told(engine, "claude-code/one", "don't remember what I just said", "shop")
            assert await listed(engine) == []
    held = (world.state / "usage.db").read_bytes()
    assert not any(word in held for word in (b"retention", b"greenhouse", b"lighthouse"))


@pytest.mark.parametrize(
    "prompt",
    [
        f"Off the record: {UNKNOWN}",
        f"<private>Berta asked me:</private> {UNKNOWN}",
        f"{WANTED} <private>{UNKNOWN}</private>",
        f"{WANTED}\n<privat>{UNKNOWN}",
    ],
)
@pytest.mark.parametrize("is_late", [False, True])
async def test_nothing_is_listed_of_a_turn_off_the_record(world: World, prompt: str, *, is_late: bool) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact", project="shop")
        if is_late:
            with pytest.raises(DeadlineExceeded):
                await engine.brief("codex/one", prompt, project="shop", within_ms=1)
        else:
            await told(engine, "codex/one", prompt, "shop")
        await search_as("codex", engine, UNKNOWN)  # which the agent does with the words of that prompt
        await engine.brief("codex/one", WANTED, project="shop", subagent=True)
        await search_as("codex", engine, UNKNOWN)  # a task doesn't end the turn
        await search_as("gemini", engine, OTHERS[0])
        assert await words(engine) == {OTHERS[0]}
        await told(engine, "codex/one", "and now the tests", "shop")
        await search_as("codex", engine, UNKNOWN)
        assert await words(engine) == {UNKNOWN, OTHERS[0]}


@pytest.mark.parametrize(
    "prompt",
    [
        f"`<private>` is a tag; {WANTED}",
        f"<privateKey>x</privateKey> {WANTED}",
        f"log off the record player. {WANTED}",
    ],
)
async def test_a_prompt_that_only_looks_private_is_listed(world: World, prompt: str) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact", project="shop")
        await told(engine, "codex/one", prompt, "shop")
        await search_as("codex", engine, UNKNOWN)
        assert UNKNOWN in await words(engine)


async def test_the_task_of_a_sub_agent_is_never_listed(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact", project="shop")
        for session in ("claude-code/one/subagent", "codex/one"):
            await engine.brief(session, WANTED, project="shop", subagent=True)
            await engine.brief(session, f"Off the record: {WANTED}", project="shop", subagent=True)
        assert await listed(engine) == []
        await search_as("codex", engine, UNKNOWN)
        assert await words(engine) == {UNKNOWN}, "the words of a task are an agent's, not a person's wish"


async def test_a_question_that_recall_answers_is_not_listed(world: World) -> None:
    async with world.engine() as engine:
        await engine.recall(OTHERS[1])  # of an empty vault
        for fact in (DATABASE, BAKERY, "Anna prefers tabs over spaces.", PORT, ORDERS):
            await engine.append(fact, kind="fact")
        for question in ("which database do we use", "which SQL server do we run"):  # the second is less sure
            assert DATABASE in await engine.recall(question)
        await engine.recall()
        assert await words(engine) == {OTHERS[1]}
        await engine.recall(OTHERS[0])
        assert await words(engine) == {*OTHERS}


async def test_a_note_that_is_looked_for_by_its_words_is_not_listed(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact")
        await engine.search("the lighthouse", include_archived=True, limit=30, project="*")
        assert await listed(engine) == []
        await engine.search("the lighthouse", project="*", limit=30)
        assert await words(engine) == {"the lighthouse"}
