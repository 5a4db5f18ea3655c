"""What is counted of a note's use, by real searches, recalls and hooks, and what is never kept."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

from mcp_memory.models import NoteId
from mcp_memory.recall.config import RecallConfig
from mcp_memory.usage.note_use import DayUse
from mcp_memory.usage.use_counter import MOST_NOTES, MOST_SEEN
from tests.support.briefings import PORT, QUESTION, begun, told
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio

TODAY = date(2026, 11, 21)


async def use_of(engine: KeywordEngine, note: NoteId) -> SimpleNamespace:
    said = await engine.perform("stats", {"target": note})
    days = {date.fromisoformat(day): DayUse(**counts) for day, counts in said["days"].items()}
    return SimpleNamespace(**{**said, "days": days}, total=DayUse(*(said[name] for name in DayUse._fields)))


async def test_searches_prompts_and_starts_count_apart_by_day_question_session_and_client(
    tmp_path: Path, model_cache: Path
) -> None:
    world = World(tmp_path / "vault", tmp_path / "state", model_cache, "auto")
    async with world.engine() as engine:
        note = (await engine.append(PORT, kind="preference")).id
        entry = (await engine.append("The staging database was restarted at noon", kind="log")).id
        await engine.search(QUESTION)
        await engine.search("which port is the staging database listening on?")  # the same question
        assert PORT in await begun(engine, "codex/one")
        await told(engine, "codex/two", QUESTION)
        world.later(days=1)
        assert PORT in await engine.recall(ids=[note])
        assert PORT in await engine.recall("does anything listen while the staging database is being restarted?")
        use = await use_of(engine, note)
        assert use.days == {TODAY: DayUse(found=2, told=1, shown=1), date(2026, 11, 22): DayUse(told=2)}
        assert (use.questions, use.sessions, use.clients) == (2, 1, ["codex"])
        assert (await use_of(engine, entry)).total.found == 2
        stats = await engine.perform("stats", {"target": note[-6:]})
        assert (stats["id"], stats["title"], stats["found"], stats["last_used"]) == (note, PORT, 2, "2026-11-22")
        assert sum((await engine.perform("stats", {}))["by_heat"].values()) == 1
    async with world.engine() as engine:  # it was written when the engine closed
        assert (await use_of(engine, note)).questions == 2


async def test_an_edit_counts_only_after_the_note_was_told_and_an_entrys_use_goes_with_it(toy_world: World) -> None:
    async with toy_world.engine() as engine:
        note = (await engine.append(PORT, kind="fact")).id
        entry = (await engine.append("The staging database was restarted at noon", kind="log")).id
        await engine.update(note, "The staging database listens on port 5434.")
        assert (await use_of(engine, note)).total.edited == 0
        await engine.search(QUESTION)
        await engine.update(note, PORT)
        await engine.perform("mute", {"target": note})
        assert (await use_of(engine, note)).total == DayUse(found=1, muted=1, edited=1)
        edited = (await engine.update(entry, "The staging database was restarted at eleven")).id
        assert edited != entry
        assert (await use_of(engine, edited)).total == DayUse(found=1, edited=1)
        assert (await use_of(engine, entry)).total == DayUse()
        await engine.perform("erase", {"target": note, "sure": True})
    with closing(sqlite3.connect(toy_world.state / "usage.db")) as kept:
        lines = "".join(kept.iterdump())
        assert edited in lines and note not in lines


async def test_what_is_kept_is_private_bounded_and_has_no_word_of_a_question(toy_world: World) -> None:
    async with toy_world.engine(recall=RecallConfig(keep_words=False)) as engine:
        for n in range(30):
            await engine.append(f"Heron number {n} nests at the weir", kind="fact")
        for n in range(40):
            await engine.search(f"Zanzibar{n * 977} heron weir nests {'q' * n} number{n}", limit=50)
        uses = [await use_of(engine, note.id) for note in await engine.notes()]
        assert max(use.questions for use in uses) <= MOST_SEEN["question"]
        assert sum(use.total.found for use in uses) == 40 * MOST_NOTES
    file = toy_world.state / "usage.db"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"anzibar" not in file.read_bytes()


async def test_a_damaged_or_unwritable_file_costs_the_counts_and_nothing_else(toy_world: World) -> None:
    async with toy_world.engine() as engine:
        note = (await engine.append(PORT, kind="fact")).id
        file = toy_world.state / "usage.db"
        file.write_bytes(b"no database " * 1000)
        await engine.search(QUESTION)
        await use_of(engine, note)  # begins anew
        assert (await use_of(engine, note)).total.found == 1
        file.unlink()
        file.mkdir()
        await engine.search(QUESTION)
        assert (await use_of(engine, note)).total == DayUse()
        assert (await engine.search(QUESTION)).hits
