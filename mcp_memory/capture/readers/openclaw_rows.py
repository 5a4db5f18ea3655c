"""Events of a session out of OpenClaw's database, in their order, from a number on, in bounded memory.

The number of an event stands for the offset of a line. The database is only read, without waiting for its writer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp_memory.capture.readers.lines import STEP_BYTES, LineBatch, TranscriptLine

MOST_EVENTS = 2000
"""Read in one go."""


def sessions_of(file: Path) -> Sequence[str]:
    """The names of the sessions that it holds. Raises OSError for what is no such database, or busy."""
    with _opened(file) as database:
        return [str(name) for (name,) in database.execute("SELECT DISTINCT session_id FROM transcript_events")]


def length_of(file: Path, session: str) -> tuple[int, int]:
    """The number behind the last event, and how many bytes of text there are. Raises as `sessions_of`."""
    query = (
        "SELECT coalesce(max(seq) + 1, 0), coalesce(sum(coalesce(event_utf8_bytes, length(event_json))), 0)"
        " FROM transcript_events WHERE session_id = ?"
    )
    with _opened(file) as database:
        return database.execute(query, [session]).fetchone()


def read_rows(file: Path, session: str, start: int) -> LineBatch:
    """The events from number `start` on; compressed ones count as too long. Raises as `sessions_of`."""
    lines: list[TranscriptLine] = []
    left, number, too_long = STEP_BYTES, start, 0
    query = "SELECT seq, event_json FROM transcript_events WHERE session_id = ? AND seq >= ? ORDER BY seq LIMIT ?"
    with _opened(file) as database:
        for seq, event in database.execute(query, [session, start, MOST_EVENTS]):
            number = int(seq) + 1
            if event is None:
                too_long += 1
                continue
            data = str(event).encode("utf-8", "surrogatepass")
            lines.append(TranscriptLine(int(seq), data))
            left -= len(data)
            if left <= 0:
                break
    is_all = left > 0 and len(lines) + too_long < MOST_EVENTS
    return LineBatch(tuple(lines), number, within=False, too_long=too_long, at_end=is_all)


@contextmanager
def _opened(file: Path) -> Generator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, timeout=1)) as database:
            yield database
    except sqlite3.Error as error:
        raise OSError(f"OpenClaw's database cannot be read: {_said(error)}") from error


def _said(error: sqlite3.Error) -> Any:
    return getattr(error, "sqlite_errorname", type(error).__name__)
