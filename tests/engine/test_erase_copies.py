"""A word that went through every door, and of which no file has anything after erasing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.keyword_engine import KeywordEngine
from tests.support.topics import ALL_AT_ONCE, TEA, told
from tests.support.world import World

pytestmark = pytest.mark.anyio

CANARY = "zanzibarquux"


def holders(folder: Path) -> list[str]:
    """Every file with the word in its bytes or its name; the index and its write-ahead log as they are on the disk."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    holding = [file for file in files if CANARY in file.name.lower() or CANARY.encode() in file.read_bytes().lower()]
    return sorted(file.relative_to(folder).as_posix() for file in holding)


async def erase(engine: KeywordEngine, target: str) -> list[str]:
    """What stays, as it says."""
    planned = await engine.perform("erase", {"target": target})
    done = await engine.perform("erase", {"target": target, "sure": True})
    assert done["erased"] == planned["erased"], "what was shown is what was done"
    return done["beyond"]


async def run_jobs(engine: KeywordEngine) -> None:
    for job in (await engine.perform("jobs", {}))["jobs"]:
        await engine.perform("jobs", {"action": "run", "name": job["name"]})


async def test_a_note_that_was_searched_told_edited_filed_shared_and_digested(toy_world: World, tmp_path: Path) -> None:
    home = toy_world.root.parent
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        more: dict[str, Any] = {"session": "s1", "source": "claude-code"}
        text = f"Green tea from Uji needs {CANARY} water of 70 degrees and a warm pot, says {CANARY}.py:f."
        note = await engine.append(text, tags=["tea", CANARY], **more)
        await told(engine, ["Green tea from Uji needs water of 80 degrees."])
        for question in (CANARY, f"what about {CANARY}?", f"unknown {CANARY} elsewhere"):
            await engine.search(question)
            prompt = {
                "session": "claude-code/s2",
                "prompt": f"{question} in the green tea of the shop",
                "project": "shop",
            }
            await engine.perform("brief", prompt)
        await engine.recall(f"{CANARY} water", project="shop")
        await engine.perform("update", {"target": note.id, "text": f"{text} Really {CANARY}.\n"})
        await engine.forget(note.id, reason=f"{CANARY} is over")
        await engine.forget(note.id, restore=True)
        await engine.perform("mute", {"target": note.id})
        await told(engine, [])
        await run_jobs(engine)
        await engine.perform("organize", {"memory": True})
        await engine.perform("digest", {"since": "2026-11-01", "until": "2026-11-30", "save": True})
        await engine.conflicts()
        filed = next(file for file in toy_world.root.rglob("*.md") if CANARY in file.name)
        filed.rename(filed.with_name(f"by-hand-{filed.name}"))
        await engine.sweep()
        held = {file.partition("/")[2].partition(".")[0] for file in holders(home) if file.startswith("state")}
        assert {"jobs", "ledger", "changes", "briefings", "index/index"} <= held, held
        await erase(engine, note.id)
        assert holders(home) == []
        await run_jobs(engine)
        assert holders(home) == []
    assert holders(home) == []


async def test_what_was_made_of_a_log_entry_goes_with_it(world: World) -> None:
    async with world.engine() as engine:
        said = f"We decided to use {CANARY} for the web shop, never npm."
        entries = list[str]()
        for day in range(4):
            world.later(days=2 if day else 0)
            stored = await engine.append(said, kind="log", source="claude-code", session=f"s{day}")
            entries.append(stored.id)
        promise = await engine.append(
            f"TODO: tomorrow buy {CANARY}", kind="log", source="claude-code", session="s1", project="shop"
        )
        await engine.append("TODO: tomorrow buy flowers", kind="log", source="claude-code", session="s1")
        await run_jobs(engine)
        assert f"[ ] {said}" in world.read("DREAMS.md").decode()
        waiting = await engine.waiting()
        assert sorted(CANARY in one["path"] for one in waiting if one["path"].startswith("_inbox")) == [False, True]
        world.write("DREAMS.md", world.read("DREAMS.md").replace(b"- [ ]", b"- [x]"))
        promoted = await engine.perform("dream", {})
        assert [CANARY in text for text in promoted["promoted"]] == [True]
        beyond = [line for entry in (*entries, promise.id) for line in await erase(engine, entry)]
        [curated] = {line.rpartition(" ")[2] for line in beyond if "the entry of MEMORY.md that quotes it" in line}
        await erase(engine, curated)
        assert holders(world.root.parent) == []
        left = await engine.waiting()
        assert [one["path"].startswith("_inbox") for one in left] == [True], "the other promise waits"


async def test_a_link_that_names_it_and_a_note_that_was_made_of_it_are_named(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append(f"The {CANARY} sings", kind="fact")
        stem = note.path.rpartition("/")[2].removesuffix(".md")
        linking = await engine.append(f"See [[{stem}]]", kind="fact")
        beyond = " ".join(await erase(engine, note.id))
        assert linking.path in beyond
        assert holders(world.root) == [linking.path]


async def test_a_note_that_was_handed_back_leaves_no_path_in_the_ledger(world: World) -> None:
    world.with_home("Agent").write(f"mine/{CANARY}.md", "Mine\n")
    async with world.engine() as engine:
        note = await engine.append(f"The {CANARY} sings", kind="fact")
        await engine.perform("adopt", {"path": note.path, "revoke": True})
        await erase(engine, note.path)
        await erase(engine, f"mine/{CANARY}.md")
        assert holders(world.root.parent) == []
