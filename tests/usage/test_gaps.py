"""Questions that memory cannot answer are counted, listed, answered and closed, by real searches, recalls and hooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_memory.errors import InvalidInput, NotFound, StorageFailed
from mcp_memory.usage import knowledge_gaps
from mcp_memory.usage.config import UsageConfig
from tests.support.briefings import PORT, QUESTION, told
from tests.support.keyword_engine import KeywordEngine
from tests.support.secret_texts import SECRETS
from tests.support.world import World, embedded

pytestmark = pytest.mark.anyio

UNKNOWN = "who waters the plants in the greenhouse during the holidays?"
AGAIN = "during the holidays, who waters the plants in the greenhouse?"
ANSWER = "The neighbour keeps his sheep in the old mill in winter."
WANTED = "what did we decide about the retention of invoices in the archive last spring?"


@pytest.fixture
def world(tmp_path: Path, model_cache: Path) -> World:
    return World(tmp_path / "vault", tmp_path / "state", model_cache, "auto")


async def listed(engine: KeywordEngine, **wanted: Any) -> list[dict[str, Any]]:
    return (await engine.perform("gaps", wanted))["gaps"]


async def test_what_search_recall_and_prompts_cannot_answer_is_counted_once_by_meaning_and_project(
    world: World,
) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact", project="shop")
        await engine.search(QUESTION, project="shop")
        await engine.search(UNKNOWN, tags=["garden"])  # the filter may be why
        assert await listed(engine) == []
        await engine.search(UNKNOWN, project="shop")
        world.later(days=2)
        await engine.recall(AGAIN, project="shop")
        await engine.search(UNKNOWN, project="home")
        most, other = await listed(engine)
        assert (most["project"], most["times"], most["first"], most["last"]) == ("shop", 2, "2026-11-21", "2026-11-23")
        assert (other["project"], other["times"]) == ("home", 1)
        assert most["question"] is None and "a fact about shop" in most["fill"]
        for session in ("codex/one", "codex/two", "codex/two"):
            assert await told(engine, session, WANTED, "shop") == ""
        assert await told(engine, "codex/one", "rename the variable in this loop", "shop") == ""
        assert await told(engine, "codex/one", QUESTION, "shop")
        by_prompt = (await listed(engine, project="shop"))[0]
        assert (by_prompt["times"], by_prompt["sessions"]) == (3, 2)
        assert len(await listed(engine)) == 3 and len(await listed(engine, project="home")) == 1
    async with world.engine() as engine:
        assert len(await listed(engine)) == 3


async def test_an_answer_becomes_a_fact_of_the_project_and_a_newer_note_closes_a_gap_by_itself(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("The barn is behind the greenhouse.", kind="fact", project="home")
        await engine.search("where does the neighbour keep his sheep in winter?", project="home")
        (gap,) = await listed(engine)
        assert gap["nearest"]["title"].startswith("The barn is")
        world.later(minutes=1)
        await engine.append("The station has two platforms.", kind="fact", project="home")
        assert [one["id"] for one in await listed(engine)] == [gap["id"]]
        for wrong, error in (({"target": "nope", "text": ANSWER}, NotFound), ({"target": gap["id"]}, InvalidInput)):
            with pytest.raises(error):
                await engine.perform("gaps", wrong)
        with pytest.raises(InvalidInput):
            await engine.perform("gaps", {"text": ANSWER})
        answer = await engine.perform("gaps", {"target": gap["id"], "text": ANSWER})
        assert ANSWER in world.read(answer["stored"]["path"]).decode() and await listed(engine) == []
        assert "project: home" in world.read(answer["stored"]["path"]).decode()

        await engine.search("how tall is the old lighthouse on the northern island?", project="home")
        (gap,) = await listed(engine)
        world.later(minutes=1)
        await engine.append("The old lighthouse on the northern island is 40 m tall.", kind="fact", project="shop")
        assert len(await listed(engine)) == 1  # of another project
        await engine.append("The old lighthouse on the northern island is 41 m tall.", kind="fact", project="home")
        await embedded(engine)
        assert await engine.perform("gaps", {}) == {"gaps": [], "closed": [gap["id"]]}


async def test_no_word_of_a_question_is_kept_unless_allowed_and_a_secret_never(world: World) -> None:
    secret = SECRETS["AWS access key"][0]
    asked = f"{UNKNOWN} with {secret}"
    async with world.engine() as engine:
        await engine.search(asked)
        assert [one["question"] for one in await listed(engine)] == [None]
    kept = (world.state / "usage.db").read_bytes()
    assert b"greenhouse" not in kept and secret.encode() not in kept
    async with world.engine(usage=UsageConfig(keep_questions=True)) as engine:
        await engine.search(asked, project="home")
        (question,) = [one["question"] for one in await listed(engine, project="home") if one["project"]]
        assert question.startswith(UNKNOWN) and secret not in question
    async with world.engine() as engine:  # no longer allowed
        assert [one["question"] for one in await listed(engine)] == [None, None]
    assert secret.encode() not in (world.state / "usage.db").read_bytes()


async def test_erasing_a_note_drops_the_words_of_questions_that_may_repeat_it(world: World) -> None:
    async with world.engine(usage=UsageConfig(keep_questions=True)) as engine:
        note = await engine.append("The station has two platforms.", kind="fact")
        world.later(minutes=1)
        await engine.search(UNKNOWN)
        assert [one["question"] for one in await listed(engine)] == [UNKNOWN]
        assert b"greenhouse" in (world.state / "usage.db").read_bytes()
        await engine.perform("erase", {"target": note.id, "sure": True})
        assert [one["question"] for one in await listed(engine)] == [None]
    assert b"greenhouse" not in (world.state / "usage.db").read_bytes()


async def test_gaps_are_bounded_in_number_and_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge_gaps, "MOST_GAPS", 2)
    async with world.engine() as engine:
        for asked in (UNKNOWN, "how tall is the old lighthouse?", "when does the bakery in Tromsø open?"):
            world.later(seconds=1)
            await engine.search(asked)
        assert len(await listed(engine)) == 2
        world.later(days=knowledge_gaps.MOST_DAYS + 1)
        assert await listed(engine) == []


async def test_an_erasure_that_cannot_drop_the_words_fails_and_the_same_call_does_the_rest(world: World) -> None:
    async with world.engine(usage=UsageConfig(keep_questions=True)) as engine:
        await engine.search(UNKNOWN)
        assert await listed(engine)
        note = await engine.append("The station has two platforms.", kind="fact")
        counts = world.state / "usage.db"
        counts.rename(world.state / "kept.db")
        counts.mkdir()
        with pytest.raises(StorageFailed):
            await engine.perform("erase", {"target": note.path, "sure": True})
        assert (world.root / note.path).exists()
        counts.rmdir()
        (world.state / "kept.db").rename(counts)
        await engine.perform("erase", {"target": note.path, "sure": True})
        assert [one["question"] for one in await listed(engine)] == [None]


async def test_in_a_review_a_question_that_comes_back_becomes_a_fact_or_is_dropped(world: World) -> None:
    other = "how tall is the old lighthouse on the northern island?"
    async with world.engine(usage=UsageConfig(keep_questions=True)) as engine:
        for asked in (UNKNOWN, AGAIN, other, other, "when does the bakery in Tromsø open?"):
            await engine.search(asked, project="home")
        waiting = (await engine.perform("inbox", {}))["waiting"]
        texts = {one["text"]: one for one in waiting}
        assert texts.keys() == {UNKNOWN, other}, "what was asked once is not shown"
        assert (texts[other]["kind"], texts[other]["source"]) == ("unanswered", "asked 2 times")
        target = texts[UNKNOWN]["id"]
        with pytest.raises(InvalidInput):
            await engine.perform("review", {"verb": "accept", "target": target})
        with pytest.raises(InvalidInput):
            await engine.perform("review", {"verb": "merge", "target": target})
        answer = "Mrs. Olsen waters the plants in the greenhouse during the holidays."
        done = await engine.perform("review", {"verb": "accept", "target": target, "content": answer})
        text = world.read(done["path"]).decode()
        assert f"{UNKNOWN}\n\n{answer}" in text and "project: home" in text
        await engine.perform("review", {"verb": "drop", "target": texts[other]["id"]})
        assert await engine.inbox() == []
        assert [one["question"] for one in await listed(engine)] == ["when does the bakery in Tromsø open?"]
        with pytest.raises(NotFound):
            await engine.perform("review", {"verb": "drop", "target": target})
    async with world.engine() as engine:  # without their words there is nothing to answer
        assert await engine.inbox() == []


async def test_a_question_that_is_taken_back_is_no_gap_and_its_words_are_gone(world: World) -> None:
    async with world.engine(usage=UsageConfig(keep_questions=True)) as engine:
        await engine.append(PORT, kind="fact", project="shop")
        for session, prompt in (("codex/one", WANTED), ("codex/two", UNKNOWN), ("codex/one", UNKNOWN)):
            await told(engine, session, prompt, "shop")
            world.later(minutes=1)
        before = {gap["question"]: gap["times"] for gap in await listed(engine)}
        assert WANTED in before
        await told(engine, "codex/one", "forget what I just said", "shop")
        after = {gap["question"]: gap["times"] for gap in await listed(engine)}
        assert after == {WANTED: 1} | ({None: 1} if UNKNOWN in before else {})
        await told(engine, "codex/one", WANTED, "shop")
    async with world.engine(usage=UsageConfig(keep_questions=True)) as engine:  # which doesn't know what came last
        await told(engine, "codex/one", "don't remember what I just said", "shop")
        assert WANTED not in {gap["question"] for gap in await listed(engine)}
    assert b"retention of invoices" not in (world.state / "usage.db").read_bytes()
