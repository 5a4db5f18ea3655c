"""A page of the index's file that is lost, in any table, hides no note without a word, and stops no start."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from mcp_memory.errors import IndexReplaced
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, eventually, until

pytestmark = pytest.mark.anyio

PAGE = 4096
EMPTY = b"\x0d\0\0\0\0\x10\0\0".ljust(PAGE, b"\0")
"""A leaf of a table without rows: valid in itself."""
NOTES = 5


def lose(file: Path, table: str, blank: bytes) -> None:
    with closing(sqlite3.connect(file)) as index:
        (page,) = index.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table]).fetchone()
    with file.open("r+b") as out:
        out.seek((page - 1) * PAGE)
        out.write(blank)


async def missing(engine: KeywordEngine) -> tuple[int, bool]:
    """How many notes no search finds, and whether the answers say that something may be missing."""
    results = [await engine.search(f"kiln{number}x") for number in range(NOTES)]
    return sum(not result.hits for result in results), all(result.degraded for result in results if not result.hits)


@pytest.mark.parametrize("blank", [b"\0" * PAGE, EMPTY], ids=["zeros", "empty"])
@pytest.mark.parametrize("table", ["generations", "models", "state", "notes_1", "words_1", "chunks_1", "links_1"])
async def test_a_lost_page_is_noticed_and_the_index_rebuilt(world: World, table: str, blank: bytes) -> None:
    world.with_home("")
    for number in range(NOTES):
        world.write(f"notes/{number}.md", f"The kiln{number}x fires, see [[{number + 1}]]")
    async with world.engine() as engine:
        assert await missing(engine) == (0, True)
    lose(world.state / "index" / "index.db", table, blank)
    async with world.engine(watching=True) as engine:
        assert (await missing(engine))[1]
        await until(engine, lambda status: status["problems"])

        async def is_whole() -> bool:
            return await missing(engine) == (0, True)

        await eventually(is_whole)


async def test_what_damages_the_file_while_it_is_used_is_rebuilt_too(world: World) -> None:
    """Rows of which the table and its index disagree: each write of them fails."""
    world.with_home("").write("notes/0.md", "The kiln0x fires")
    async with world.engine() as engine:
        with closing(sqlite3.connect(world.state / "index" / "index.db")) as connection:
            connection.execute("CREATE UNIQUE INDEX once ON notes_1 (kind)")
        world.write("notes/1.md", "The kiln1x fires, too")
        with suppress(IndexReplaced):
            await engine.sweep()
        await engine.sweep()
        assert (await engine.search("kiln1x")).hits
