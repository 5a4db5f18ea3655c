"""Records the outcome of each candidate, so that none is stored or proposed twice, and announces new ones.

The log is local and append-only, one JSON object per line; it holds ids and no text of notes.
"""

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from mcp_memory.errors import StorageFailed
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteId, NoteRecord, NoteState, PrivateMarks
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import append_line


class CandidateOutcome(StrEnum):
    WAITING = "waiting"
    ACTIVE = "active"
    """Stated outright, and not yet announced to a session."""
    ANNOUNCED = "told"
    """Stated outright, and announced; see `Digest`."""
    KNOWN = "known"
    """Already in memory; it has no note of its own. A log's entry of which nothing is left to be taken, too."""
    ACCEPTED = "accepted"
    DROPPED = "dropped"
    MERGED = "merged"
    UNDONE = "undone"


REJECTED = frozenset({CandidateOutcome.DROPPED, CandidateOutcome.UNDONE})
STORED_UNREVIEWED = frozenset({CandidateOutcome.ACTIVE, CandidateOutcome.ANNOUNCED})


@dataclass(frozen=True, slots=True)
class LoggedCandidate:
    """`at` is in seconds since the epoch."""

    id: NoteId
    outcome: CandidateOutcome
    session: str
    at: float


class CandidateLog:
    """Keeps all of it in memory, and makes each line durable before `record` returns. Thread-safe."""

    def __init__(self, file: Path) -> None:
        """Raises StorageFailed for a file that can't be read."""
        self._file = file
        self._lock = threading.Lock()
        self._known = {entry.id: entry for entry in _read(file)}

    def find(self, note_id: NoteId) -> LoggedCandidate | None:
        return self._known.get(note_id)

    def with_outcomes(self, outcomes: Iterable[CandidateOutcome]) -> list[LoggedCandidate]:
        """Lists candidates with these outcomes, in the order in which they got them."""
        wanted = frozenset(outcomes)
        with self._lock:
            return sorted((one for one in self._known.values() if one.outcome in wanted), key=lambda one: one.at)

    def record(self, note_id: NoteId, outcome: CandidateOutcome, session: str, at: float) -> None:
        """Raises StorageFailed, and then records nothing in memory either."""
        self.record_all([note_id], outcome, session, at)

    def record_all(self, note_ids: Sequence[NoteId], outcome: CandidateOutcome, session: str, at: float) -> None:
        """Record the same outcome of several, of all or none. Raises StorageFailed."""
        lines = [json.dumps({"id": note_id, "fate": outcome, "session": session, "at": at}) for note_id in note_ids]
        with self._lock, naming_the_cause(str(self._file)):
            append_line(self._file, "\n".join(lines).encode())
            self._known |= {note_id: LoggedCandidate(note_id, outcome, session, at) for note_id in note_ids}


def _read(file: Path) -> Iterable[LoggedCandidate]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageFailed(
            f"cannot read {file}: {error.strerror}",
            hint="let the user that runs mcp-memory read and write it; it records which candidates were seen",
        ) from error
    for line in lines:
        try:
            entry = json.loads(line)
            outcome, session, at = CandidateOutcome(entry["fate"]), str(entry["session"]), float(entry["at"])
            yield LoggedCandidate(NoteId(entry["id"]), outcome, session, at)
        except (ValueError, TypeError, KeyError):
            continue  # cut short by a crash: that candidate is considered again


MAX_LINES = 8

ANNOUNCE_S = 86_400.0
"""Each session that starts within a day announces it, and after that the first one only: a hook's answer may have come
too late to be shown, and if you work with several agents, each one shows it."""


@dataclass(eq=False, slots=True)
class Digest:
    """Announces at session start what was stored without review. For worker threads."""

    _index: Index
    _log: CandidateLog
    _clock: Callable[[], datetime]

    def announcements(self, project: str | None) -> list[NoteRecord]:
        """Returns at most MAX_LINES notes that a session of this project may see; the others come next time."""
        now = self._clock()
        filters, since = Filters(project=project, now=now, private=PrivateMarks()), now.timestamp() - ANNOUNCE_S
        # Unannounced ones first, then the newest: there is room for a few.
        known = sorted(
            self._log.with_outcomes(STORED_UNREVIEWED),
            key=lambda entry: (entry.outcome is CandidateOutcome.ANNOUNCED, -entry.at),
        )
        fresh = [entry.id for entry in known if entry.outcome is CandidateOutcome.ACTIVE or entry.at > since]
        return [note for one in fresh for note in self._index.note_by_id(one) if filters.admits(note)][:MAX_LINES]

    def mark_announced(self, ids: Sequence[NoteId]) -> None:
        """Raises StorageFailed."""
        for note_id in ids:
            if (known := self._log.find(note_id)) and known.outcome is CandidateOutcome.ACTIVE:
                self._log.record(note_id, CandidateOutcome.ANNOUNCED, known.session, known.at)

    def waiting(self) -> int:
        """Counts the candidates that wait for review."""
        return len(self._index.notes(Filters(states=frozenset({NoteState.INBOX})), limit=10_000))
