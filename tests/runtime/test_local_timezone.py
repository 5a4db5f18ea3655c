"""Local time in a process that outlives a change of the clocks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_memory.core.core import EngineConfig
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.engine.engine import open_engine
from mcp_memory.runtime.local_timezone import LocalTimezone
from tests.support.world import World, python

BERLIN = ZoneInfo("Europe/Berlin")

# 2026-10-25 01:00 UTC: in Berlin the clocks go back from 03:00 to 02:00.
RETRY = """
import os, sys, time
from datetime import UTC, datetime, timedelta
from pathlib import Path
os.environ["TZ"] = "Europe/Berlin"
time.tzset()
from mcp_memory.runtime.local_timezone import LocalTimezone
from tests.support.world import draft, vault_in

folder = Path(sys.argv[1])
moment = datetime(2026, 7, 1, 12, tzinfo=UTC)
vault = vault_in(folder, lambda: moment.astimezone(), LocalTimezone())
for start in (datetime(2026, 7, 1, 12, tzinfo=UTC), datetime(2026, 12, 1, 12, tzinfo=UTC),
              datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)):
    moment = start
    first = vault.append(draft("Deployed", "log", session="s"))
    moment += timedelta(seconds=30)
    again = vault.append(draft("Deployed", "log", session="s"))
    record = vault.read(first.file.record.path).record
    print(first.outcome.value, again.outcome.value, record.created.isoformat())
"""


@pytest.fixture
def in_berlin() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    os.environ.pop("TZ")
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


def test_a_retry_is_known_in_summer_in_winter_and_while_the_clocks_change(tmp_path: Path) -> None:
    answer = python(RETRY, tmp_path).communicate()[0].split("\n")
    assert answer == [
        "created duplicate 2026-07-01T00:00:00+02:00",
        "created duplicate 2026-12-01T00:00:00+01:00",
        "created duplicate 2026-10-25T00:00:00+02:00",
        "created duplicate 2026-10-25T00:00:00+02:00",
        "",
    ]


@pytest.mark.usefixtures("in_berlin")
class TestBerlin:
    @given(st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)))
    @example(datetime(2026, 10, 25, 0, 30))
    @example(datetime(2026, 10, 25, 1, 30))
    @example(datetime(2026, 3, 29, 0, 59, 59))
    def test_there_and_back_is_the_same_moment(self, naive: datetime) -> None:
        moment = naive.replace(tzinfo=UTC)
        local = moment.astimezone(LocalTimezone())
        wanted = moment.astimezone(BERLIN)
        assert (local.replace(tzinfo=None), local.fold) == (wanted.replace(tzinfo=None), wanted.fold)
        assert local.utcoffset() == wanted.utcoffset()
        assert local.astimezone(UTC) == moment
        assert datetime.fromtimestamp(moment.timestamp(), LocalTimezone()).astimezone(UTC) == moment

    @given(st.datetimes(), st.sampled_from([0, 1]))
    @example(datetime.min, 0)
    @example(datetime.max, 1)
    def test_nothing_is_raised(self, naive: datetime, fold: int) -> None:
        offset = naive.replace(tzinfo=LocalTimezone(), fold=fold).utcoffset()
        assert timezone(offset)
        assert abs(offset) < timedelta(days=1)

    @pytest.mark.anyio
    async def test_an_engine_asks_the_system(self, world: World) -> None:
        for month in (1, 7):
            world.write(f"{month}.md", f"---\ncreated: 2026-0{month}-01 12:00:00\n---\nNoon\n")
        config = EngineConfig(
            root=world.root, state=world.state, models=world.models, embedder=EmbedderConfig(provider="none")
        )
        async with open_engine(config, watch=False) as engine:
            await engine.settled()
            notes = [note for note in await engine.notes() if note.created]
        offsets = [note.created.utcoffset() for note in notes]
        assert offsets == [timedelta(hours=1), timedelta(hours=2)]
