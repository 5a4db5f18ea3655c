"""Three fixes or sessions that went the same way are proposed as a how-to, which rests on them."""

from __future__ import annotations

import pytest

from mcp_memory.curation.dreams.how_to import HOW_TO
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, found, records

pytestmark = pytest.mark.anyio

START, MIGRATE = "docker compose up -d db", "make migrate"
FIXES = (
    f"The tests were refused on port 5433. `{START}` starts the database, then `{MIGRATE}`.",
    f"The error:\n> `ConnectionRefusedError: db:5432`\n\nWhat worked:\n```\n{START}\n{MIGRATE}\n```\n\n"
    "What happened before:\n> ```\n> make reset\n> ```\n> It failed.",
    f"The seeds need the database: run `{START}` and `{MIGRATE}` first. `make reset` isn't needed.",
)


async def fixed(engine: KeywordEngine, world: World, project: str | None = None) -> list[str]:
    notes: list[str] = []
    for text in FIXES:
        notes.append((await engine.append(text, kind="fix", project=project)).id)
        world.later(days=1)
    return notes


async def proposed(engine: KeywordEngine) -> list[str]:
    return [one["text"] for one in (await engine.perform("dream", {}))["proposed"] if one["section"] == HOW_TO]


async def test_a_way_that_three_fixes_share_becomes_a_how_to_that_links_to_them(world: World) -> None:
    async with world.engine() as engine:
        notes = await fixed(engine, world, "shop")
        (text,) = await proposed(engine)
        assert text.startswith("How to: The seeds need the database")
        page = world.read("DREAMS.md").decode()
        assert f"  - `{START}` ([2026-11-23](/notes/fix/" in page and "make reset" not in page
        assert await proposed(engine) == []
        (item,) = await engine.waiting("proposal")
        await engine.review("accept", item["id"], text="How to start the shop")
        done = await engine.perform("dream", {})
        (how_to,) = [note for note in records(engine) if note.kind == "workflow"]
        assert (how_to.title, how_to.project) == ("How to start the shop", "shop")
        body = world.read(how_to.path).decode()
        assert f"\n1. `{START}` ([" in body and f"\n2. `{MIGRATE}` ([" in body and all(note in body for note in notes)
        assert how_to.path in await found(engine, "compose", project="shop")
        await engine.perform("undo", {"target": done["run"], "sure": True})
        assert how_to.path not in await found(engine, "compose", project="shop")


async def test_a_fix_that_was_moved_is_erased_with_the_proposal_that_quotes_it(world: World) -> None:
    async with world.engine() as engine:
        first, *_ = await fixed(engine, world)
        await proposed(engine)
        path = next(note.path for note in records(engine) if note.id == first)
        world.write("topics/other/moved.md", world.read(path))
        (world.root / path).unlink()
        await engine.sweep()
        await engine.perform("erase", {"target": first, "sure": True})
        kept = [one.read_text() for one in (world.root / "memory/.dreams").iterdir()]
        assert START not in world.read("DREAMS.md").decode() and not any(START in text for text in kept)


async def test_two_fixes_fixes_of_several_projects_and_sessions_alone_are_no_how_to(world: World) -> None:
    for day in range(1, 5):
        head = (
            f"---\nid: 01KBZ00000000000000000000{day}\nkind: session\nnode_kind: session\ncreated: 2026-11-0{day}\n---"
        )
        world.write(f"summaries/sessions/2026-11-0{day}-a.md", f"{head}\n## Changed\n- `npm run seed` went well\n")
    async with world.engine() as engine:
        for number, text in enumerate(FIXES):
            await engine.append(text, kind="fix", project=f"shop {number % 2}")
        assert await proposed(engine) == []
        await engine.append("`npm run seed` finds what the editor hides.", kind="lesson")
        assert await proposed(engine) == ["How to: npm run seed finds what the editor hides."]


async def test_a_how_to_is_withdrawn_with_a_note_that_it_rests_on(world: World) -> None:
    async with world.engine() as engine:
        notes = await fixed(engine, world)
        assert len(await proposed(engine)) == 1
        await engine.forget(notes[1])
        assert await engine.waiting("proposal") == []
        await proposed(engine)
        assert HOW_TO not in world.read("DREAMS.md").decode().replace(f"## {HOW_TO}", "")
        assert START not in world.read("DREAMS.md").decode()


async def test_undoing_a_session_takes_back_the_how_to_and_the_line_of_memory_that_were_made_of_its_notes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_memory.curation.dreams.recurrence.MIN_QUESTIONS", 0)
    world.write("MEMORY.md", "# Memory\n\n## Project context\n\n- Lena owns billing.\n")
    memory = world.read("MEMORY.md")
    async with world.engine() as engine:
        await fixed(engine, world)
        port = await engine.append("The staging database listens on port 5433.", kind="fact", session="s-9")
        await engine.append(FIXES[0] + " Again.", kind="fix", session="s-9")
        for _ in range(4):
            await engine.recall(ids=[port.id])
            world.later(days=1)
        assert len((await engine.perform("dream", {}))["proposed"]) == 2
        world.write("DREAMS.md", world.read("DREAMS.md").decode().replace("- [ ]", "- [x]"))
        await engine.perform("dream", {})
        (how_to,) = [note for note in records(engine) if note.kind == "workflow"]
        assert b"port 5433" in world.read("MEMORY.md")
        await engine.sweep()
        undone = await engine.perform("undo", {"session": "s-9", "sure": True})
        assert [step["why"] for step in undone["steps"]] == [""] * 4
        assert world.read("MEMORY.md") == memory and await found(engine, "compose migrate", kinds=["workflow"]) == []
        assert len(await found(engine, "compose migrate", kinds=["fix"])) == 3
        await engine.perform("restore", {"target": how_to.id})
        assert await found(engine, "compose migrate", kinds=["workflow"]) == [how_to.path]


async def test_a_how_to_that_you_edited_stays_when_a_note_of_it_is_undone(world: World) -> None:
    async with world.engine() as engine:
        notes = await fixed(engine, world)
        await proposed(engine)
        world.write("DREAMS.md", world.read("DREAMS.md").decode().replace("- [ ]", "- [x]"))
        await engine.perform("dream", {})
        (how_to,) = [note for note in records(engine) if note.kind == "workflow"]
        await engine.perform("update", {"target": how_to.path, "text": "Start the database, always.\n"})
        undone = await engine.perform("undo", {"target": notes[0], "sure": True})
        whys = {step["path"]: step["why"] for step in undone["steps"]}
        assert whys.pop(how_to.path).startswith("you edited it since") and {*whys.values()} == {""}
        assert await found(engine, "start the database always", kinds=["workflow"]) == [how_to.path]
