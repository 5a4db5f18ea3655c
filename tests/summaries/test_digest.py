"""Digests: a page for each full day, what happened in a phase, and nothing of what was forgotten."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, found

pytestmark = pytest.mark.anyio


def log(world: World, day: date, *titles: str) -> None:
    body = "".join(f"## {9 + n:02}:00 {title} (project: shop)\n\nDone.\n\n" for n, title in enumerate(titles))
    world.write(f"memory/{day}.md", f"# {day}\n\n{body}")


async def run(engine: KeywordEngine) -> list[str]:
    await engine.sweep()
    return (await engine.run_job("digests"))["changed"]


async def test_full_days_get_a_page_that_is_written_once(world: World) -> None:
    today = world.now.date()
    async with world.engine() as engine:
        full = today - timedelta(1)
        log(
            world,
            full,
            "Moved orders to Postgres",
            "Moved orders to Postgres",
            "Port 8087 is free",
            "Tuned the queries",
        )
        log(world, today - timedelta(2), "One thing alone")
        log(world, date(2026, 9, 15), "Long ago", "And over")
        log(world, today, "Not over yet", "And more to come")
        before = {path: data for path, data in world.files().items() if path.startswith("memory/")}
        assert await run(engine) == ["summaries/days/2026-11-20.md"]
        page = world.read("summaries/days/2026-11-20.md").decode()
        assert "title: Friday, 2026-11-20" in page
        assert page.partition("\n## ")[2].splitlines() == [
            "Logged",
            "",
            "- 2026-11-20 shop: [Moved orders to Postgres](../../memory/2026-11-20.md)",
            "- 2026-11-20 shop: [Port 8087 is free](../../memory/2026-11-20.md)",
            "- 2026-11-20 shop: [Tuned the queries](../../memory/2026-11-20.md)",
        ]
        assert await run(engine) == []
        assert {path: data for path, data in world.files().items() if path.startswith("memory/")} == before
        assert "summaries/days/2026-11-20.md" not in await found(engine, "orders Postgres")
        entry = next(
            one["id"] for one in (await engine.perform("list", {}))["notes"] if one["title"].startswith("Tuned")
        )
        await engine.forget(entry)
        assert await run(engine) == ["summaries/days/2026-11-20.md"]
        assert b"Tuned" not in world.read("summaries/days/2026-11-20.md")
        mine = world.read("summaries/days/2026-11-20.md") + b"\nMine.\n"
        world.write("summaries/days/2026-11-20.md", mine)
        log(world, full, "Moved orders to Postgres", "Port 8087 is free", "Late entry")
        assert await run(engine) == [] and world.read("summaries/days/2026-11-20.md") == mine


async def test_a_phase_is_told_on_request_without_other_projects_and_what_is_private(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("We decided to ship on Thursdays.", kind="decision", project="shop")
        await engine.append("I promised Petra the list of berths", kind="commitment", project="shop", due="2026-11-27")
        await engine.append("The harbour opens at six.", kind="decision", project="harbor")
        await engine.append("The doctor said so.", kind="decision", project="shop", tags=["private"])
        asked = {"since": "2026-11-20", "project": "shop"}
        answer = await engine.perform("digest", asked)
        assert answer["text"].split("\n")[:-1] == [
            "## Decided",
            "",
            "- 2026-11-21 shop: [We decided to ship on Thursdays.]"
            "(./notes/decision/we-decided-to-ship-on-thursdays.md)",
            "",
            "## Promised",
            "",
            "- 2026-11-21 shop: [I promised Petra the list of berths]"
            "(./notes/commitment/i-promised-petra-the-list-of-berths.md)",
        ]
        assert answer["path"] is None and not (world.root / "summaries").exists()
        saved = await engine.perform("digest", {**asked, "save": True})
        assert b"derived_from:" in world.read(saved["path"]) and b"ship on Thursdays" in world.read(saved["path"])
        assert (await engine.perform("digest", {"until": "2026-11-01"}))["text"] == ""
        everywhere = await engine.perform("digest", {"since": "2026-11-20", "project": "*"})
        assert everywhere == await engine.perform("digest", {"since": "2026-11-20"})
        assert "harbour" in everywhere["text"] and "*" not in everywhere["title"]
