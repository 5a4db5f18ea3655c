"""Count the questions and prompts that memory could not answer; questions of one project with the same meaning are one
gap.

A question is kept as its vector, a byte for each dimension; its words only if `usage.keep_questions` allows it, and
then without secrets.
"""

import hashlib
import secrets
import sqlite3
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.text.secrets.finder import redact
from mcp_memory.usage.config import UsageConfig
from mcp_memory.vault.journals.change_journal import current_caller

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

SAME_COSINE = 0.75
"""The cosine of two questions that are one gap. It corresponds to the share of equal signs by which `use_counter`
recognizes a repeated question (.77)."""

MOST_GAPS, MOST_DAYS, MOST_SESSIONS, MOST_CHARS = 500, 90, 32, 300
"""The most gaps, the days after which a gap that nobody asked again is dropped, and the most sessions and characters of
each."""

UNANSWERED_BELOW = 0.3
"""The confidence below which a question is treated as unanswered. It is higher than the bar for a warning, since a
needless gap costs less than a needless warning. Measured on unanswerable questions: 11 of 34 (a developer's) and 53 %
(about conversations) are gaps, instead of 5 and 22 % with the bar for a warning. Among answerable questions, 15 of 186
and 3 % are gaps, instead of 11 and 1 %."""

_SCHEMA = """CREATE TABLE IF NOT EXISTS gaps (
    id TEXT PRIMARY KEY, project TEXT, model TEXT, vector BLOB, times INT, sessions BLOB, first TEXT, last TEXT,
    question TEXT
)"""
_READ = "SELECT * FROM gaps ORDER BY times DESC, last DESC, id"


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap. `vector`, shape (dimension,), is of the `model` with this fingerprint. `sessions`: 32 at most."""

    id: str
    project: str | None
    model: str
    vector: "Vectors"
    times: int
    sessions: int
    first: datetime
    last: datetime
    question: str | None


@dataclass(frozen=True, slots=True)
class _Miss:
    question: str
    project: str | None
    session: str | None
    at: datetime


class KnowledgeGaps:
    """The gaps. `meaning`: the vector of a question that was just embedded; `model`: the fingerprint of its embedder,
    or None. Without a vector nothing is counted. `add` is thread-safe, and `UseCounter` calls the rest."""

    def __init__(
        self, config: UsageConfig, clock: Callable[[], datetime],
        meaning: "Callable[[str], Vectors | None]", model: Callable[[], str | None],
    ) -> None:  # fmt: skip
        self._config, self._clock = config, clock
        self._meaning, self._model = meaning, model
        self.waiting: deque[_Miss] = deque(maxlen=1000)

    def add(self, question: str, project: str | None, session: str | None = None) -> None:
        """Add a question, to be counted later. Takes microseconds."""
        self.waiting.append(_Miss(question, project, session or current_caller().session, self._clock()))

    def add_unsure(self, question: str, project: str | None, confidence: float | None) -> None:
        """Add a question, if its answer is too unsure."""
        if confidence is not None and confidence < UNANSWERED_BELOW:
            self.add(question, project)

    def count(self, database: sqlite3.Connection) -> None:
        """Count the waiting questions, and drop gaps that are too old or too many."""
        database.execute(_SCHEMA)
        while self.waiting:
            self._count(database, self.waiting.popleft())
        oldest = (self._clock() - timedelta(days=MOST_DAYS)).isoformat()
        database.execute("DELETE FROM gaps WHERE last < ?", (oldest,))
        beyond = "SELECT id FROM gaps ORDER BY last DESC LIMIT -1 OFFSET ?"
        database.execute(f"DELETE FROM gaps WHERE id IN ({beyond})", (MOST_GAPS,))  # noqa: S608 -- a constant
        if not self._config.keep_questions:
            forget_words(database)

    def _count(self, database: sqlite3.Connection, miss: _Miss) -> None:
        vector, model = self._meaning(miss.question), self._model()
        if vector is None or model is None:
            return
        session = _hashed(miss.session) if miss.session else b""
        same = "SELECT id, vector, sessions FROM gaps WHERE model = ? AND project IS ?"
        known = [(_cosine(row[1], vector), row[0], row[2]) for row in database.execute(same, (model, miss.project))]
        cosine, gap, sessions = max(known, default=(0.0, "", b""))
        if cosine < SAME_COSINE:
            at, words = miss.at.isoformat(), redact(" ".join(miss.question.split())).text[:MOST_CHARS]
            question = words if self._config.keep_questions else None
            row = (secrets.token_hex(3), miss.project, model, _packed(vector), 1, session, at, at, question)
            database.execute("INSERT OR REPLACE INTO gaps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            return
        heard = {sessions[start : start + 8] for start in range(0, len(sessions), 8)}
        if session not in heard and len(heard) < MOST_SESSIONS:
            sessions += session
        changed = "UPDATE gaps SET times = times + 1, sessions = ?, last = ? WHERE id = ?"
        database.execute(changed, (sessions, miss.at.isoformat(), gap))


def read_gaps(database: sqlite3.Connection) -> list[Gap]:
    """Return the gaps, the most asked first."""
    found: list[Gap] = []
    for name, project, model, packed, times, sessions, first, last, question in database.execute(_READ).fetchall():
        days = datetime.fromisoformat(first), datetime.fromisoformat(last)
        found.append(Gap(name, project, model, _unpacked(packed), times, len(sessions) // 8, *days, question))
    return found


def forget_words(database: sqlite3.Connection) -> None:
    """Drop the words of all questions; their meanings are still counted."""
    database.execute("UPDATE gaps SET question = NULL WHERE question IS NOT NULL")


def take_back_gaps(database: sqlite3.Connection, session: str, since: datetime) -> None:
    """Drop a session's gaps since then. If other sessions have asked the same, drop only the words and one time of the
    gap."""
    own = _hashed(session)
    for name, last, sessions in database.execute("SELECT id, last, sessions FROM gaps").fetchall():
        heard = [sessions[start : start + 8] for start in range(0, len(sessions), 8)]
        if own not in heard or datetime.fromisoformat(last) < since:
            continue
        if heard == [own]:
            close_gap(database, name)
        else:
            rest = b"".join(one for one in heard if one != own)
            changed = "UPDATE gaps SET times = max(1, times - 1), sessions = ?, question = NULL WHERE id = ?"
            database.execute(changed, (rest, name))


def close_gap(database: sqlite3.Connection, gap: str) -> None:
    database.execute("DELETE FROM gaps WHERE id = ?", (gap,))


def _hashed(session: str) -> bytes:
    return hashlib.sha256(session.encode("utf-8", "replace")).digest()[:8]


def _packed(vector: "Vectors") -> bytes:
    largest = max(float(np.max(np.abs(vector))), 1e-9)
    return np.asarray(np.rint(vector * (127 / largest)), dtype=np.int8).tobytes()


def _unpacked(packed: bytes) -> "Vectors":
    vector = np.frombuffer(packed, dtype=np.int8).astype(np.float32)
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def _cosine(packed: bytes, vector: "Vectors") -> float:
    return float(_unpacked(packed) @ vector) / max(float(np.linalg.norm(vector)), 1e-9)
