"""OpenClaw's sessions, which lie in a database: the events of a real one, in the table as it makes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from mcp_memory.errors import StorageFailed
from tests.capture.taken import Desk
from tests.capture.written import SAMPLES

pytestmark = pytest.mark.anyio

TABLE = """CREATE TABLE transcript_events (
  session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL, event_zstd BLOB,
  event_utf8_bytes INTEGER, navigation_json TEXT, PRIMARY KEY (session_id, seq)) STRICT"""
EVENTS = next((SAMPLES / "openclaw").glob("*.jsonl")).read_text().splitlines()
NAME = "main/agent/openclaw-agent.sqlite"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def write(file: Path, session: str, events: Sequence[str | None], first: int = 0) -> None:
    """An event that is None is a compressed one."""
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(TABLE.replace("TABLE", "TABLE IF NOT EXISTS"))
        database.executemany(
            "INSERT OR REPLACE INTO transcript_events VALUES (?, ?, ?, 0, ?, ?, NULL)",
            [
                (session, number, event, None if event else b"zstd", len(event or "") or 9)
                for number, event in enumerate(events, first)
            ],
        )
        database.commit()


async def test_each_session_of_a_database_is_captured_once_as_it_grows(desk: Desk):
    file = desk.file(NAME, "openclaw")
    write(file, "one", EVENTS[:6])
    write(file, "two", [event.replace("We always use tabs", "We never use tabs") for event in EVENTS[:5]])
    with closing(sqlite3.connect(file)) as writer:  # the client goes on
        writer.execute("BEGIN IMMEDIATE")
        await desk.take(file, "openclaw")
    write(file, "one", [None, *EVENTS[6:]], first=6)
    taken = await desk.take(file, "openclaw")
    await desk.take(file, "openclaw")
    assert sum(each.unreadable for each in taken) == 1  # what is compressed is counted
    said = [text[:16] for text in desk.texts()]
    assert said == ["We always use ta", "We never use tab", "ok", "cat: /nowhere/at", "STUB-ANSWER ok"]
    assert len(desk.leaves()) == 2
    assert f"{file}#one#4" in desk.said()


async def test_events_that_were_written_anew(desk: Desk):
    """A compaction of the client's may number them again: none comes twice."""
    file = desk.file(NAME, "openclaw")
    write(file, "one", EVENTS)
    await desk.take(file, "openclaw")
    before = desk.texts()
    with closing(sqlite3.connect(file)) as database:
        database.execute("DELETE FROM transcript_events WHERE seq < 3")
        database.execute("UPDATE transcript_events SET seq = seq - 3")
        database.commit()
    write(file, "one", [EVENTS[-2].replace("STUB-ANSWER ok", "And done.")], first=40)
    await desk.take(file, "openclaw")
    assert desk.texts() == [*before, "And done."]


async def test_what_is_no_database(desk: Desk):
    desk.file(NAME, "openclaw").write_bytes(b"no database at all, and longer than a header of one would be " * 20)
    with pytest.raises(StorageFailed):
        await desk.take(desk.file(NAME, "openclaw"), "openclaw")


async def test_what_was_said_in_a_group_belongs_to_that_group(desk: Desk):
    """Its topics too, and the sessions of sub-agents that it starts; your own sessions belong to none."""
    file = desk.file(NAME, "openclaw")
    keys = {
        "one": ("agent:main:telegram:group:-1001:topic:4", None),
        "two": ("agent:main:subagent:b", "agent:main:telegram:group:-1001"),
        "three": ("agent:main:main", None),
        "four": ("agent:main:discord:channel:9", None),
    }
    for number, session in enumerate(keys):
        write(file, session, [event.replace("We always use tabs", f"We {number} use tabs") for event in EVENTS[:5]])
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE session_windows (session_id TEXT, session_key TEXT, spawned_by TEXT)")
        rows = [(session, key, spawner) for session, (key, spawner) in keys.items()]
        database.executemany("INSERT INTO session_windows VALUES (?, ?, ?)", rows)
        database.commit()
    await desk.take(file, "openclaw")
    projects = {
        text.partition("\nsession: ")[2].partition("\n")[0]: text.partition("\nproject: ")[2].partition("\n")[0]
        for text in desk.leaves().values()
    }
    group = '"channel:telegram:group:-1001"'
    assert (projects["one"], projects["two"]) == (group, group)
    assert projects["four"] == '"channel:discord:channel:9"' and "channel" not in projects["three"]
