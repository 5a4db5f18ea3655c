"""Count in the background how often notes are found, told and shown (see `DayUse`), for how many different questions,
and what the showings came to (see `ShowingOutcome`).

A question is kept as the signs of its vector, 48 bytes with the bundled model; a session as a hash.
"""

import hashlib
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import anyio

from mcp_memory.errors import McpMemoryError, StorageFailed
from mcp_memory.models import Clock, NoteId
from mcp_memory.runtime.threads import in_thread
from mcp_memory.usage.note_use import DayUse, NoteUse, ShowingOutcome
from mcp_memory.usage.unanswered import (
    StoredQuestion,
    UnansweredQuestion,
    UnansweredQuestions,
    drop_questions,
    is_same_question,
    most_asked,
    pack_signs,
    read_questions,
)
from mcp_memory.vault.journals.change_journal import ChangeJournal, NoteChange, current_caller

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

MOST_DAYS, MOST_ROWS = 365, 200_000
"""The most days of use, and the most lines of a note and a day: some 20 MB."""

MOST_SEEN = {"question": 16, "session": 32, "client": 8}
MOST_NOTES, MOST_WAITING = 20, 10_000
"""The most notes of one answer, and the most answers that wait to be counted."""

EVERY_S = 2.0
"""The time between counts, and so the most that a crash may lose."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS uses (
    note TEXT, day TEXT, found INT DEFAULT 0, told INT DEFAULT 0, shown INT DEFAULT 0, muted INT DEFAULT 0,
    edited INT DEFAULT 0, PRIMARY KEY (note, day)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (note TEXT, what TEXT, value BLOB, PRIMARY KEY (note, what, value)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outcomes (
    note TEXT, project TEXT, shown INT, used INT, PRIMARY KEY (note, project)
) WITHOUT ROWID;
"""
_TABLES = ("uses", "seen", "outcomes")
_COUNT = """INSERT INTO outcomes VALUES (?1, ?2, max(0, ?3), max(0, min(?3, ?4)))
ON CONFLICT DO UPDATE SET shown = max(0, shown + ?3), used = max(0, min(shown + ?3, used + ?4))"""
"""The counts may have begun anew since what is taken back was counted."""
_READ = "SELECT note, day, found, told, shown, muted, edited FROM uses ORDER BY note, day"
_SEEN = "SELECT value FROM seen WHERE note = ? AND what = ?"

log = logging.getLogger(__name__)


class _Use(NamedTuple):
    notes: tuple[NoteId, ...]
    how: Literal["found", "told", "shown"]
    day: str
    question: str | None
    session: str | None
    client: str | None


class UseCounter:
    """The counter. Thread-safe. `meaning`: the vector, shape (dimension,), of a question that was just embedded."""

    def __init__(
        self, file: Path, clock: Clock, meaning: "Callable[[str], Vectors | None]",
        changes: ChangeJournal, unanswered: UnansweredQuestions,
    ) -> None:  # fmt: skip
        self._file, self._clock, self._meaning, self._changes = file, clock, meaning, changes
        self._waiting: deque[_Use] = deque(maxlen=MOST_WAITING)
        self.unanswered = unanswered
        self._lock = threading.Lock()
        self._known_changes = 0
        self._outcomes: dict[str, dict[str, ShowingOutcome]] = {}
        if file.exists():
            self._transact(self._read_outcomes)

    def add(
        self, notes: Iterable[NoteId], how: Literal["found", "told", "shown"], *, question: str | None = None,
        session: str | None = None,
    ) -> None:  # fmt: skip
        """Add uses, to be counted later. Takes microseconds. A `session` that is named client/id names the client,
        too."""
        by, few = current_caller(), tuple(dict.fromkeys(notes))[:MOST_NOTES]
        client = (session or "").rpartition("/")[0] or by.client
        if few:
            day = self._clock().date().isoformat()
            self._waiting.append(_Use(few, how, day, question, session or by.session, client))

    def count(self, changes: Iterable[tuple[NoteId, str | None, ShowingOutcome]]) -> None:
        """Add to the outcomes of notes in projects now."""
        self._change_outcomes(_COUNT, [(note, project or "", *outcome) for note, project, outcome in changes])

    def outcomes(self, project: str | None) -> Mapping[str, ShowingOutcome]:
        """Return the outcomes in a project by note. Takes microseconds."""
        return self._outcomes.get(project or "", {})

    def forget_outcomes(self, note: str, project: str | None) -> None:
        """Forget the outcomes of a note in a project, or in all."""
        self._change_outcomes("DELETE FROM outcomes WHERE note = ? AND project = ifnull(?, project)", [(note, project)])

    async def run(self) -> None:
        """Count uses forever as they are added. If the disk refuses, only the log reports it."""
        while True:
            await anyio.sleep(EVERY_S)
            if self._waiting or self.unanswered.waiting or self._changes.count != self._known_changes:
                try:
                    await in_thread(self.flush, deadline_s=30, what="counting what was used")
                except McpMemoryError as error:
                    log.warning("uses are not counted: %s", error.code)

    def flush(self) -> None:
        """Count the waiting uses now."""
        self._transact(self._flush)

    def read(self, project: str | None = None) -> dict[NoteId, NoteUse]:
        """Return the use of all notes and log entries that were used, with the uses after showings in a project; empty
        if the counts are lost."""
        found: dict[NoteId, NoteUse] = {}

        def read(database: sqlite3.Connection) -> None:
            self._flush(database)
            seen: dict[tuple[str, str], list[bytes]] = {}
            for note, what, value in database.execute("SELECT note, what, value FROM seen ORDER BY value"):
                seen.setdefault((note, what), []).append(value)
            for note, rows in groupby(database.execute(_READ), lambda row: row[0]):
                days = {date.fromisoformat(row[1]): DayUse(*row[2:]) for row in rows}
                questions, sessions, clients = (seen.get((note, what), []) for what in MOST_SEEN)
                names = tuple(name.decode() for name in clients)
                used = self.outcomes(project).get(note, ShowingOutcome()).used
                found[NoteId(note)] = NoteUse(days, len(questions), len(sessions), names, used)

        self._transact(read)
        return found

    def used_since(self, day: date) -> set[str]:
        """Return the notes and log entries that were found or told since a day; none if the counts are lost."""
        found, used = set[str](), "SELECT DISTINCT note FROM uses WHERE day >= ? AND found + told > 0"

        def read(database: sqlite3.Connection) -> None:
            self._flush(database)
            found.update(note for (note,) in database.execute(used, [day.isoformat()]))

        self._transact(read)
        return found

    def read_unanswered(self) -> list[UnansweredQuestion]:
        """Return the unanswered questions, the most asked first; empty if the counts are lost."""
        stored: list[StoredQuestion] = []
        self.flush()
        self._transact(lambda database: stored.extend(read_questions(database)))
        return most_asked(stored)  # without the lock: this compares each with each

    def take_back(self, session: str) -> None:
        """Forget the waiting uses of this session, and all unanswered questions. Raises StorageFailed."""
        for use in [use for use in self._waiting.copy() if use.session == session]:
            with suppress(ValueError):  # counted just now
                self._waiting.remove(use)
        self.drop_questions()

    def erase(self, notes: Collection[str]) -> None:
        """Forget all use of these notes."""
        named = [(note,) for note in notes]
        self.flush()
        for table in _TABLES:
            self._change_outcomes(f"DELETE FROM {table} WHERE note = ?", named)  # noqa: S608 -- names from this file alone

    def drop_questions(self) -> None:
        """Drop all unanswered questions, of which those that wait are never written. Raises StorageFailed."""
        self.unanswered.waiting.clear()
        if fault := self._transact(drop_questions):
            raise StorageFailed(f"unanswered questions can't be dropped: {fault}", hint="try again")

    def _transact(self, work: Callable[[sqlite3.Connection], object]) -> str | None:
        """Do the work; return the reason if it was not done. Never raises: a damaged file makes room for a new one."""
        try:
            self._file.touch(mode=0o600)
            with self._lock, closing(sqlite3.connect(self._file, timeout=5)) as database, database:
                database.execute("PRAGMA secure_delete = ON")  # words that are dropped leave no bytes behind
                database.executescript(_SCHEMA)
                work(database)
        except (sqlite3.OperationalError, OSError) as error:  # a full disk, another process
            log.warning("uses are not counted: %s", error)
            return str(error)
        except sqlite3.DatabaseError:
            log.warning("the counts of uses were damaged, and begin anew")
            self._file.unlink(missing_ok=True)
        return None

    def _change_outcomes(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        def change(database: sqlite3.Connection) -> None:
            database.executemany(statement, rows)
            self._read_outcomes(database)

        self._transact(change)

    def _read_outcomes(self, database: sqlite3.Connection) -> None:
        found: dict[str, dict[str, ShowingOutcome]] = {}
        for note, project, *counts in database.execute("SELECT note, project, shown, used FROM outcomes"):
            found.setdefault(project, {})[note] = ShowingOutcome(*counts)
        self._outcomes = found

    def _flush(self, database: sqlite3.Connection) -> None:
        is_idle = not self._waiting
        self.unanswered.store(database)
        while self._waiting:
            self._count(database, self._waiting.popleft())
        recent, count = self._changes.since(self._known_changes), self._changes.count
        for change in recent:
            _count_change(database, change)
        self._known_changes = count
        if recent:
            self._read_outcomes(database)
        if not is_idle:
            _cut(database, self._clock().date())

    def _count(self, database: sqlite3.Connection, use: _Use) -> None:
        vector = self._meaning(use.question) if use.question else None
        signs = None if vector is None else pack_signs(vector)
        session = hashlib.sha256(use.session.encode("utf-8", "replace")).digest()[:8] if use.session else None
        values: dict[str, bytes | None] = {
            "question": signs,
            "session": session,
            "client": (use.client or "")[:80].encode(),
        }
        for note in use.notes:
            add = f"INSERT INTO uses (note, day, {use.how}) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET "  # noqa: S608 -- names from this file alone
            database.execute(add + f"{use.how} = {use.how} + 1", (note, use.day))
            for what, value in values.items():
                if not value or (use.how == "shown" and what != "client"):
                    continue
                known = [row[0] for row in database.execute(_SEEN, (note, what))]
                is_known = any(is_same_question(value, one) for one in known) if what == "question" else value in known
                if not is_known and len(known) < MOST_SEEN[what]:
                    database.execute("INSERT INTO seen VALUES (?, ?, ?)", (note, what, value))


def _count_change(database: sqlite3.Connection, change: NoteChange) -> None:
    """Count an edit for the day on which the note was last used, and only if it was. An edit of a log entry gives it
    another id, to which its use moves."""
    column = {"edited": "edited", "superseded": "edited", "muted": "muted"}.get(change.kind)
    if column:
        note = change.target
        if change.kind == "edited" and change.entry and change.other:
            for table in _TABLES:
                moved = f"UPDATE OR REPLACE {table} SET note = ? WHERE note = ?"  # noqa: S608 -- names from this file alone
                database.execute(moved, (note, f"{change.path}#{change.other}"))
        # whoever edits or mutes a note, or no longer mutes it, judges it better than the counts
        database.execute("DELETE FROM outcomes WHERE note = ?", (note,))
        day = "SELECT max(day) FROM uses WHERE note = ? AND found + told + shown > 0"
        database.execute(f"UPDATE uses SET {column} = {column} + 1 WHERE note = ? AND day = ({day})", (note, note))  # noqa: S608 -- names from this file alone


def _cut(database: sqlite3.Connection, today: date) -> None:
    gone = database.execute(
        "DELETE FROM uses WHERE day < date(?, ?)", (today.isoformat(), f"-{MOST_DAYS} days")
    ).rowcount
    beyond = "SELECT note, day FROM uses ORDER BY day DESC LIMIT -1 OFFSET ?"
    gone += database.execute(f"DELETE FROM uses WHERE (note, day) IN ({beyond})", (MOST_ROWS,)).rowcount  # noqa: S608 -- names from this file alone
    if gone:
        for table in _TABLES[1:]:
            database.execute(f"DELETE FROM {table} WHERE note NOT IN (SELECT note FROM uses)")  # noqa: S608 -- names from this file alone
