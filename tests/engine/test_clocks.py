"""Promise C4: whatever the wall clock says, ids are unique, nothing is lost and nothing expires for good."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.world import NOON, World, found

pytestmark = pytest.mark.anyio

JUMPS = {
    "8 h on": NOON + timedelta(hours=8),
    "1 h back": NOON - timedelta(hours=1),
    "400 days on": NOON + timedelta(days=400),
    "1970": datetime(1970, 1, 1, tzinfo=UTC),
    "2100": datetime(2100, 3, 1, tzinfo=UTC),
    "stands still": NOON,
}


async def test_what_a_fast_clock_hides_is_back_with_the_right_one(world: World) -> None:
    async with world.engine() as engine:
        task = await engine.append("paint the gate", kind="task")
        world.later(days=400)
        assert await found(engine, "gate") == []
        await engine.sweep()
    world.later(days=400)
    async with world.engine() as engine:
        await engine.sweep()
        world.now = NOON + timedelta(days=1)
        assert await found(engine, "gate") == [task.path]


async def test_a_change_is_seen_whatever_time_the_file_bears(world: World) -> None:
    file = world.write("a.md", "violet teapot")
    async with world.engine() as engine:
        for number, moment in enumerate(JUMPS.values()):
            world.now = moment
            file.write_text(f"crimson {number:07}")
            os.utime(file, (moment.timestamp(), moment.timestamp()))
            await engine.sweep()
            assert await found(engine, f"{number:07}") == ["a.md"]
