"""Records the outcome of each candidate, so that none is stored or proposed twice, and announces new ones.

The log is local and append-only, one JSON object per line; it holds ids and no text of notes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from mcp_memory.errors import StorageFailed
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteId, NoteRecord, NoteState
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import append_line


class CandidateOutcome(StrEnum):
    WAITING = "waiting"
    ACTIVE = "active"
    """Stated outright, and not yet announced to a session."""
    TOLD = "told"
    """Stated outright, and announced; see `Digest`."""
    KNOWN = "known"
    """Already in memory; it has no note of its own."""
    ACCEPTED = "accepted"
    DROPPED = "dropped"
    MERGED = "merged"
    UNDONE = "undone"


REJECTED = frozenset({CandidateOutcome.DROPPED, CandidateOutcome.UNDONE})
AT_ONCE = frozenset({CandidateOutcome.ACTIVE, CandidateOutcome.TOLD})


@dataclass(frozen=True, slots=True)
class LoggedCandidate:
    """`at` is in seconds since the epoch."""

    id: NoteId
    fate: CandidateOutcome
    session: str
    at: float


class CandidateLog:
    """Keeps all of it in memory, and makes each line durable before `note` returns. Thread-safe."""

    def __init__(self, file: Path) -> None:
        """Raises StorageFailed for a file that can't be read."""
        self._file = file
        self._lock = threading.Lock()
        self._known: dict[NoteId, LoggedCandidate] = {}
        self._load()

    def find(self, note_id: NoteId) -> LoggedCandidate | None:
        return self._known.get(note_id)

    def with_outcomes(self, fates: Iterable[CandidateOutcome]) -> list[LoggedCandidate]:
        """Lists candidates with these outcomes, in the order in which they got them."""
        wanted = frozenset(fates)
        with self._lock:
            return sorted((each for each in self._known.values() if each.fate in wanted), key=lambda each: each.at)

    def note(self, note_id: NoteId, fate: CandidateOutcome, session: str, at: float) -> None:
        """Records an outcome. Raises StorageFailed, and then records nothing in memory either."""
        said = LoggedCandidate(note_id, fate, session, at)
        with self._lock, naming_the_cause(str(self._file)):
            append_line(self._file, json.dumps(asdict(said)).encode())
            self._known[note_id] = said

    def _load(self) -> None:
        try:
            lines = self._file.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageFailed(
                f"cannot read {self._file}: {error.strerror}",
                hint="let the user that runs mcp-memory read and write it; it records which candidates were seen",
            ) from error
        for line in lines:
            try:
                said = json.loads(line)
                entry = LoggedCandidate(
                    NoteId(said["id"]), CandidateOutcome(said["fate"]), str(said["session"]), float(said["at"])
                )
            except (ValueError, TypeError, KeyError):
                continue  # cut short by a crash: that candidate is considered again
            self._known[entry.id] = entry


MOST_LINES = 8

NAMED_S = 86_400.0
"""Each session that starts within a day announces it, and after that the first one only: a hook's answer may have come
too late to be shown, and if you work with several agents, each one shows it."""


class Digest:
    """Announces at session start what was stored without review. For worker threads."""

    def __init__(self, index: Index, register: CandidateLog, clock: Callable[[], datetime]) -> None:
        self._index = index
        self._register = register
        self._clock = clock

    def announcements(self, project: str | None) -> list[NoteRecord]:
        """Returns at most MOST_LINES notes that a session of this project may see; the others come next time."""
        filters = Filters(project=project, now=self._clock())
        since = self._clock().timestamp() - NAMED_S
        # Unannounced ones first, then the newest: there is room for a few.
        known = sorted(
            self._register.with_outcomes(AT_ONCE), key=lambda each: (each.fate is CandidateOutcome.TOLD, -each.at)
        )
        fresh = [each.id for each in known if each.fate is CandidateOutcome.ACTIVE or each.at > since]
        return [note for each in fresh for note in self._index.note_by_id(each) if filters.admits(note)][:MOST_LINES]

    def mark_announced(self, ids: Sequence[NoteId]) -> None:
        """Raises StorageFailed."""
        for each in ids:
            if (known := self._register.find(each)) and known.fate is CandidateOutcome.ACTIVE:
                self._register.note(each, CandidateOutcome.TOLD, known.session, known.at)

    def waiting(self) -> int:
        """Counts the candidates that wait for review."""
        return len(self._index.notes(Filters(states=frozenset({NoteState.INBOX})), limit=10_000))
