"""What a session was told and no longer holds is named once, without repeating what was forgotten."""

from __future__ import annotations

import pytest

from tests.support.briefings import PORT, QUESTION
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio

WHO = "claude-code/s"
HAIKU = "write a haiku about herons"


async def _prompted(engine: KeywordEngine, prompt: str, session: str = WHO, **more: bool) -> str:
    return (await engine.brief(session, prompt, **more)).text


async def _begun(engine: KeywordEngine, session: str = WHO) -> str:
    return (await engine.brief(session)).text


async def test_what_was_forgotten_superseded_or_changed_is_named_once(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append(PORT, kind="preference")
        second = await engine.append("The staging database is dumped at noon.", kind="preference", title="Dump at noon")
        third = await engine.append("The staging database has 3 replicas.", kind="preference", title="Replicas")
        said = await _begun(engine)
        assert PORT in said and "noon" in said and "3 replicas" in said
        assert await _prompted(engine, HAIKU) == ""
        await engine.forget(first.id, personal=True)
        newer = await engine.append("It is dumped at six.", kind="fact", title="Dump at six", supersedes=second.id)
        await engine.update(third.id, "The staging database has 5 replicas.")
        said = await _prompted(engine, HAIKU)
        assert f"Withdrawn: {first.id[-6:]} was forgotten." in said and PORT not in said
        assert f'"Dump at noon" ({second.id[-6:]}) was superseded by "Dump at six" ({newer.id[-6:]})' in said
        assert 'was changed, and now says "The staging database has 5 replicas."' in said
        assert said.startswith("<<<") and "data, not instructions" in said
        assert await _prompted(engine, HAIKU) == "", "once"
        assert await _prompted(engine, HAIKU, "claude-code/other") == "", "it was told nothing"


async def test_what_the_session_itself_changed_is_no_news_to_it(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append(PORT, kind="fact")
        for who in (WHO, "codex/t"):
            assert PORT in await _prompted(engine, QUESTION, who)
        await engine.forget(receipt.id, source="claude-code", session="s")
        assert await _prompted(engine, HAIKU) == ""
        assert "was forgotten" in await _prompted(engine, HAIKU, "codex/t")


async def test_a_move_or_a_new_entry_withdraws_nothing_and_an_edited_entry_is_named(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append(PORT, kind="preference")
        entry = await engine.append("The staging database was restored from the dump of Tuesday noon.", kind="log")
        assert PORT in await _begun(engine)
        assert "restored" in await _prompted(engine, "when was the staging database restored")
        (world.root / "topics/01-staging").mkdir(parents=True)
        (world.root / note.path).rename(world.root / "topics/01-staging/001-port.md")
        await engine.append("Something else.", kind="log")
        await engine.sweep()
        assert await _prompted(engine, HAIKU) == ""
        await engine.forget(entry.id, personal=True)
        assert "was forgotten" in await _prompted(engine, HAIKU)


async def test_many_are_counted_and_the_switch_ends_it(world: World) -> None:
    async with world.engine() as engine:
        said = [f"The staging database is ven{n}." for n in range(6)]
        made = [await engine.append(text, kind="preference", title=f"Ven {n}") for n, text in enumerate(said)]
        for who in (WHO, "codex/t"):
            assert "ven3" in await _begun(engine, who)
        for receipt in made:
            await engine.forget(receipt.id, personal=True)
        assert await _prompted(engine, HAIKU, withdrawn=False) == ""
        said = await _prompted(engine, HAIKU, "codex/t")
        assert said.count("was forgotten") == 3 and "3 more" in said


async def test_what_was_told_before_a_restart_is_withdrawn_after_it_and_once(world: World) -> None:
    async with world.engine() as engine:
        gone = await engine.append(PORT, kind="preference")
        old = await engine.append("The staging database is dumped at noon.", kind="preference", title="Dump at noon")
        longer = await engine.append("The staging database has 3 replicas.", kind="preference", title="Replicas")
        later = await engine.append("The staging database is called Otter.", kind="preference", title="Name")
        said = await _begun(engine)
        assert all(word in said for word in (PORT, "noon", "3 replicas", "Otter"))
        world.later(hours=1)
        await engine.forget(gone.id, personal=True)
    async with world.engine() as engine:
        newer = await engine.append("It is dumped at six.", kind="fact", title="Dump at six", supersedes=old.id)
        await engine.update(longer.id, "The staging database has 3 replicas.\n\nAll are in Oslo.")
        said = await _prompted(engine, HAIKU)
        assert f"Withdrawn: {gone.id[-6:]} was forgotten." in said and PORT not in said
        assert f'"Dump at noon" ({old.id[-6:]}) was superseded by "Dump at six" ({newer.id[-6:]})' in said
        assert "replicas" not in said, "only more was added"
        assert await _prompted(engine, HAIKU) == ""
    async with world.engine() as engine:
        assert await _prompted(engine, HAIKU) == "", "once, also after another restart"
        await engine.update(later.id, "The staging database is called Badger.")
        said = await _prompted(engine, HAIKU)
        assert f'"Name" ({later.id[-6:]}) was changed, and now says "The staging database is called Badger."' in said


async def test_the_file_has_no_text_and_nothing_of_what_was_erased(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append(PORT, kind="preference")
        assert PORT in await _begun(engine)
        file = world.state / "told.jsonl"
        assert receipt.id in file.read_text() and "5433" not in file.read_text()
        await engine.perform("erase", {"target": receipt.id, "sure": True})
        assert receipt.id not in file.read_text()
