"""Dates in calls as people say them, read by the one reader that the command line has."""

from __future__ import annotations

import pytest

from mcp_memory.errors import InvalidInput
from mcp_memory.text.markdown import frontmatter
from tests.support.world import World, found

pytestmark = pytest.mark.anyio


@pytest.fixture
async def _days(world: World) -> None:
    """A kiln note of each of three days; it is Saturday 2026-11-21, 12:00."""
    for day in ("19", "20", "21"):
        text = f"---\nid: d{day}\nkind: fact\ncreated: 2026-11-{day}T09:00:00+00:00\n---\nThe kiln of the {day}th.\n"
        world.write(f"d{day}.md", text)


@pytest.mark.usefixtures("_days")
@pytest.mark.parametrize(
    ("filters", "days"),
    [
        ({"since": "yesterday"}, "20 21"), ({"since": "today", "until": "today"}, "21"), ({"until": "last week"}, ""),
        ({"since": "yesterday", "until": "yesterday"}, "20"), ({"until": "yesterday"}, "19 20"),
        ({"since": "il y a 2 jours", "until": "avant-hier"}, "19"), ({"since": "letzten Freitag"}, "20 21"),
        ({"until": "Friday"}, "19 20"), ({"since": "3 hours ago"}, "21"), ({"since": "10:00"}, ""),
        ({"since": "2026-11-20"}, "20 21"), ({"until": "2026-11-20"}, "19"), ({"since": "2026-11"}, "19 20 21"),
    ],
)  # fmt: skip
async def test_since_and_until_in_words(world: World, filters: dict[str, str], days: str) -> None:
    async with world.engine() as engine:
        assert sorted(await found(engine, "kiln", **filters)) == [f"d{day}.md" for day in days.split()]


@pytest.mark.parametrize(
    ("expires", "at"),
    [
        ("tomorrow", "2026-11-22"), ("nächsten Freitag", "2026-11-27"), ("end of month", "2026-11-30"),
        ("today", "2026-11-22"), ("2026-12-31", "2026-12-31"),
    ],
)  # fmt: skip
async def test_expires_in_words(world: World, expires: str, at: str) -> None:
    async with world.engine() as engine:
        note = await engine.append("The kiln is cooling.", expires=expires)
        stored = frontmatter.parse(world.read(note.path).decode()).meta["expires_at"]
        assert str(stored).startswith(f"{at} 00:00:00")


async def test_every_operation_with_dates_reads_them(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("The kiln is hot.", kind="fact")
        for operation, name in (("list", "notes"), ("changes", "changes")):
            assert (await engine.perform(operation, {"since": "hoy"}))[name]
        assert "kiln" in await engine.recall("Is the kiln hot?", until="tomorrow")
        for name in ("since", "until"):
            with pytest.raises(InvalidInput, match=f"{name}: not a date or time that can be read .pass for example"):
                await engine.perform("search", {"query": "kiln", name: "after lunch"})
