"""Similar notes: found by words, as advice."""

from __future__ import annotations

import pytest

from mcp_memory.errors import IndexUnavailable
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.models import Filters
from tests.support.world import World

pytestmark = pytest.mark.anyio

ALL = Filters()


async def test_the_nearest_come_first_and_what_merely_shares_a_subject_does_not(world: World) -> None:
    world.write("exact.md", "The violet teapot has a crack near its spout, so nobody may pour from it.\n")
    world.write("close.md", "The violet teapot has a crack near the spout. Nobody may use it.\n")
    world.write("subject.md", "The violet teapot stands on the second shelf of the kitchen, behind the blue cups.\n")
    async with world.engine() as engine:
        for said, near in (
            ("the violet teapot has a crack near its spout so nobody may pour from it", ["exact.md", "close.md"]),
            ("of the and", []),
            ("bicycles rust when it rains", []),
        ):
            similar = (await engine.append(said, kind="fact")).similar
            assert [one.id for one in similar] == [f"path:{path}" for path in near]


async def test_of_a_log_the_entry_is_named(world: World) -> None:
    async with world.engine() as engine:
        entry = await engine.append("the violet teapot has a crack near its spout", kind="log")
        note = await engine.append("the violet teapot has a crack near its spout", kind="fact")
        assert [one.id for one in note.similar] == [entry.id]


async def test_what_is_superseded_is_not_called_similar(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("the violet teapot has a crack near its spout", kind="fact")
        second = await engine.append("the violet teapot has a crack near its handle", kind="fact", supersedes=first.id)
        assert second.similar == ()


@pytest.mark.parametrize("error", [IndexUnavailable("no index"), ValueError("a bug")])
async def test_advice_never_fails_an_append(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    async with world.engine() as engine:

        def broken(*_: object, by: str) -> None:
            raise error

        monkeypatch.setattr(SqliteIndex, "lexical", broken)
        assert (await engine.append("tea at four", kind="fact")).similar == ()
    assert ("similar notes" in caplog.text) is isinstance(error, ValueError)
