"""Records the outcome of each candidate, so that no candidate is stored or proposed twice, and announces new notes.

The log is local and append-only, with a JSON object per line; it contains ids but no text of notes.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mcp_memory.index.base import Index
from mcp_memory.models import Clock, Filters, NoteId, NoteRecord, PrivateMarks
from mcp_memory.runtime.json_lines import Facts, JsonLines


class CandidateOutcome(StrEnum):
    WAITING = "waiting"
    ACTIVE = "active"
    """Stated outright, and not yet announced to a session."""
    ANNOUNCED = "told"
    """Stated outright, and announced; see `Digest`."""
    KNOWN = "known"
    """Already in memory, so the candidate has no note of its own; also a log entry that is fully processed."""
    ACCEPTED = "accepted"
    DROPPED = "dropped"
    CROWDED_OUT = "crowded"
    """Dropped because better proposals of the session wait: you didn't reject it, and may say it again."""
    COPIED = "copied"
    """Dropped because the agent stored the same: you didn't reject it."""
    MERGED = "merged"


STORED_UNREVIEWED = frozenset({CandidateOutcome.ACTIVE, CandidateOutcome.ANNOUNCED})
FORGETTABLE = STORED_UNREVIEWED | {CandidateOutcome.ACCEPTED, CandidateOutcome.DROPPED}
"""The outcomes of candidates that were rejected if their note is forgotten now."""


@dataclass(frozen=True)
class LoggedCandidate:
    """A candidate with its outcome. `at` is in seconds since the epoch."""

    id: NoteId
    outcome: CandidateOutcome
    session: str
    at: float


class CandidateLog:
    """The log, kept in memory; `record` returns once the line is durable. Thread-safe."""

    def __init__(self, file: Path) -> None:
        """Read the log. Raises StorageFailed for an unreadable file."""
        self._lines = JsonLines(file)
        self._lock = threading.Lock()
        found = map(_candidate, self._lines.read())
        self._known = {candidate.id: candidate for candidate in found if candidate}

    def find(self, note_id: NoteId) -> LoggedCandidate | None:
        return self._known.get(note_id)

    def with_outcomes(self, outcomes: Iterable[CandidateOutcome]) -> list[LoggedCandidate]:
        """List candidates with these outcomes, in the order of recording."""
        wanted = frozenset(outcomes)
        with self._lock:
            return sorted((one for one in self._known.values() if one.outcome in wanted), key=lambda one: one.at)

    def record(self, note_id: NoteId, outcome: CandidateOutcome, session: str, at: float) -> None:
        """Record an outcome. Raises StorageFailed, and then doesn't record it in memory either."""
        self.record_all([note_id], outcome, session, at)

    def record_all(self, note_ids: Sequence[NoteId], outcome: CandidateOutcome, session: str, at: float) -> None:
        """Record the same outcome for several candidates, or for none. Raises StorageFailed."""
        lines = [{"id": note_id, "fate": outcome, "session": session, "at": at} for note_id in note_ids]
        with self._lock:
            self._lines.append(*lines)
            self._known |= {note_id: LoggedCandidate(note_id, outcome, session, at) for note_id in note_ids}


def _candidate(line: Facts) -> LoggedCandidate | None:
    """Return the candidate of a line; None for a line of a later version, whose candidate is considered again."""
    try:
        outcome, session, at = CandidateOutcome(line["fate"]), str(line["session"]), float(line["at"])
        return LoggedCandidate(NoteId(line["id"]), outcome, session, at)
    except (ValueError, TypeError, KeyError):
        return None


@dataclass(eq=False)
class Digest:
    """Announces notes stored without review, once each. For worker threads."""

    _index: Index
    _log: CandidateLog
    _clock: Clock
    _private: PrivateMarks

    def announcements(self, project: str | None) -> list[NoteRecord]:
        """Return the unannounced notes that a session of this project may see, the newest first."""
        filters = Filters(project=project, now=self._clock(), private=self._private)
        fresh = reversed(self._log.with_outcomes([CandidateOutcome.ACTIVE]))
        return [note for one in fresh for note in self._index.note_by_id(one.id) if filters.admits(note)]

    def mark_announced(self, ids: Sequence[NoteId]) -> None:
        """Record that notes were announced. Raises StorageFailed."""
        for note_id in ids:
            if (known := self._log.find(note_id)) and known.outcome is CandidateOutcome.ACTIVE:
                self._log.record(note_id, CandidateOutcome.ANNOUNCED, known.session, known.at)
