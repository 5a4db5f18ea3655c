"""Lists of notes are exact: the same as sorting everything, whatever the limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mcp_memory.errors import InvalidInput
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio


async def titles(engine: KeywordEngine, **wanted: Any) -> Sequence[str]:
    return [note["title"] for note in (await engine.perform("list", wanted))["notes"]]


async def test_notes_of_one_second_are_in_the_order_in_which_they_were_stored(world: World) -> None:
    async with world.engine() as engine:
        stored = [(await engine.append(f"{word} of the shop", kind="fact")).id for word in ("Zinc", "Awning", "Mast")]
        listed = [note["id"] for note in (await engine.perform("list", {}))["notes"]]
        assert [one for one in listed if one in stored] == stored[::-1]


async def test_notes_and_entries_the_newest_first_whatever_the_limit(world: World) -> None:
    async with world.engine() as engine:
        for number in range(40):  # notes and entries by turns, a few days' worth
            world.later(hours=3)
            kind = "log" if number % 3 == 0 else "fact"
            project = ("api", "web", None)[number % 5 % 3]
            await engine.append(
                f"Number {number}", kind=kind, project=project, tags=["odd"] * (number % 2), source="codex"
            )
        world.write("by hand.md", "# By hand\n\nWithout a date.\n")
        await engine.sweep()
        every = [f"Number {number}" for number in reversed(range(40))]
        assert await titles(engine, limit=1000) == [*every, "By hand"]
        for limit in (1, 2, 3, 7, 20, 39, 40):
            assert await titles(engine, limit=limit) == every[:limit], limit
        assert (await engine.perform("list", {"limit": 40}))["further"] is True
        assert (await engine.perform("list", {"limit": 41}))["further"] is False
        odd = [title for title in every if int(title.split()[1]) % 2]
        assert await titles(engine, tags=["odd"], limit=3) == odd[:3]
        web = [title for title in every if int(title.split()[1]) % 5 % 3 == 1]
        none = [title for title in every if int(title.split()[1]) % 5 % 3 == 2]
        assert await titles(engine, project="web", limit=1000) == [*sorted(web + none, key=every.index), "By hand"]
        assert await titles(engine, kinds=["log"], limit=2) == ["Number 39", "Number 36"]
        assert await titles(engine, client="disk") == ["By hand"]
        assert await titles(engine, client="codex", limit=2) == every[:2]
        assert await titles(engine, client="you") == []
        moments = {note["title"]: note["date"] for note in (await engine.perform("list", {"limit": 40}))["notes"]}
        assert await titles(engine, since=moments["Number 30"], until=moments["Number 36"]) == every[4:10]
        for wanted in ({"limit": 0}, {"since": "lunch"}, {"until": "lunch"}):
            with pytest.raises(InvalidInput):
                await engine.perform("list", wanted)


async def test_what_no_longer_counts_and_what_it_all_comes_to(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("The port is 8087", kind="fact", project="api", source="codex")
        await engine.append("The port is 8090", kind="fact", project="api", source="codex", supersedes=old.id)
        await engine.append("A sale until noon", expires="2026-11-22")
        gone = await engine.append("A secret plan")
        await engine.append("Deployed it", kind="log", project="api")
        await engine.perform("forget", {"target": gone.id})
        world.later(days=2)
        listed = (await engine.perform("list", {"archived": True, "text": True}))["notes"]
        states = {note["title"]: note["status"] for note in listed if note["date"]}
        assert states == {"The port is 8087": "superseded", "A sale until noon": "expired"}
        assert "The port is 8087" in [note["text"].strip() for note in listed]
        assert sorted(await titles(engine)) == ["Deployed it", "The port is 8090"]
        stats = await engine.perform("stats", {})
        assert stats["notes"] == 2
        assert stats["by_kind"] == {"fact": 1, "log": 1}
        assert stats["by_project"] == {"api": 2}
        assert stats["by_client"] == {"codex": 1, "you": 1}
        assert stats["besides"]["deleted"] == 1
        assert stats["bytes"] >= sum(map(len, world.files().values())) - 2_000  # pages of the vault's own aside
