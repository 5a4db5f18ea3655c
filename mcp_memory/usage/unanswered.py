"""Keep the words of questions and prompts that memory could not answer, for `mcp-memory stats --unanswered`.

They stay on this machine, without secrets, for 30 days, and only if `recall.keep_words` allows it. All of them go when
a person takes something back or erases a note: a question says neither in which session nor about what it was asked.
"""

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mcp_memory.index.keywords.tokenizer import bindable
from mcp_memory.models import Clock
from mcp_memory.text.secrets.finder import redact
from mcp_memory.vault.journals.change_journal import Caller, current_caller

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

KEPT = timedelta(days=30)
MOST_ROWS, MOST_CHARS = 2000, 300
MOST_READ = 4 * MOST_CHARS
"""The characters that are read of a question: enough that no secret is cut within the words that are kept."""

UNANSWERED_BELOW = 0.3
"""The confidence below which a search is treated as unanswered. It is higher than the bar for a warning, since a
needless line in a list costs less than a needless warning. Measured on unanswerable questions: 11 of 34 (a developer's)
and 53 % (about conversations) are listed, instead of 5 and 22 % with the bar for a warning. Among answerable questions,
15 of 186 and 3 % are listed, instead of 11 and 1 %."""

SAME = 0.77
"""The share of equal signs above which two vectors are treated as the same question. Measured with the bundled model:
10 of 11 pairs that ask the same in other words are above it. So is 1 of 10 pairs that ask something else about the same
matter. So too few questions are counted."""

_SCHEMA = "CREATE TABLE IF NOT EXISTS unanswered (words TEXT, signs BLOB, project TEXT, at TEXT)"
_INSERT = "INSERT INTO unanswered (words, signs, project, at) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True)
class UnansweredQuestion:
    """The latest wording of a question, and how often it was asked in this project."""

    words: str
    project: str | None
    times: int
    last: datetime


class StoredQuestion(NamedTuple):
    """A question as it was asked once; `signs`: the signs of its vector, empty while it waits or without a model."""

    words: str
    signs: bytes
    project: str | None
    at: datetime


class UnansweredQuestions:
    """The questions. `meaning`: the vector of a question that was just embedded; `is_silenced`: whether nothing may be
    kept of what this caller asks. `add` is thread-safe; `UseCounter` calls the rest."""

    def __init__(
        self, clock: Clock, meaning: "Callable[[str], Vectors | None]",
        is_silenced: Callable[[Caller, datetime], bool], *, keep_words: bool,
    ) -> None:  # fmt: skip
        self._clock, self._meaning, self._is_silenced = clock, meaning, is_silenced
        self._keep_words = keep_words
        self.waiting: deque[StoredQuestion] = deque(maxlen=1000)

    def add(self, question: str, project: str | None) -> None:
        """Add a question, to be stored later. Takes microseconds."""
        if self._keep_words:
            self.waiting.append(StoredQuestion(question, b"", project, self._clock()))

    def add_from_caller(self, question: str, project: str | None) -> None:
        """Add a question that the caller asks now, unless nothing may be kept of it."""
        if not self._is_silenced(current_caller(), self._clock()):
            self.add(question, project)

    def store(self, database: sqlite3.Connection) -> None:
        """Store the waiting questions, and drop those that are too old or too many, or all if words may not be kept."""
        database.execute(_SCHEMA)
        while self.waiting:
            asked = self.waiting.popleft()
            words = redact(" ".join(asked.words[:MOST_READ].split())).text[:MOST_CHARS]
            vector = self._meaning(asked.words)
            signs = b"" if vector is None else pack_signs(vector)
            if words:
                database.execute(_INSERT, (bindable(words), signs, asked.project, asked.at.isoformat()))
        if not self._keep_words:
            drop_questions(database)
        database.execute("DELETE FROM unanswered WHERE at < ?", ((self._clock() - KEPT).isoformat(),))
        beyond = "SELECT rowid FROM unanswered ORDER BY rowid DESC LIMIT -1 OFFSET ?"
        database.execute(f"DELETE FROM unanswered WHERE rowid IN ({beyond})", (MOST_ROWS,))  # noqa: S608 -- a constant


def read_questions(database: sqlite3.Connection) -> list[StoredQuestion]:
    """Return the questions, the latest first."""
    rows = database.execute("SELECT words, signs, project, at FROM unanswered ORDER BY rowid DESC")
    return [StoredQuestion(words, signs, project, datetime.fromisoformat(at)) for words, signs, project, at in rows]


def most_asked(questions: Iterable[StoredQuestion]) -> list[UnansweredQuestion]:
    """Return the questions, given the latest first, the most asked first. Two of one project that mean the same are
    one."""
    found: list[tuple[bytes, UnansweredQuestion]] = []
    for asked in questions:
        for number, (known_signs, known) in enumerate(found):
            means_same = bool(asked.signs) and is_same_question(asked.signs, known_signs)
            if known.project == asked.project and (known.words == asked.words or means_same):
                found[number] = (known_signs, replace(known, times=known.times + 1))
                break
        else:
            found.append((asked.signs, UnansweredQuestion(asked.words, asked.project, 1, asked.at)))
    return sorted((question for _, question in found), key=lambda one: -one.times)


def drop_questions(database: sqlite3.Connection) -> None:
    """Drop all questions."""
    database.execute(_SCHEMA)
    database.execute("DELETE FROM unanswered")


def pack_signs(vector: "Vectors") -> bytes:
    """Return the signs of a vector, shape (dimension,): 48 bytes with the bundled model, enough to recognize a
    question in other words."""
    return np.packbits(np.asarray(vector) > 0).tobytes()


def is_same_question(one: bytes, other: bytes) -> bool:
    """Compare the signs of two questions."""
    differ = (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()
    return len(one) == len(other) and differ <= (1 - SAME) * 8 * len(one)
