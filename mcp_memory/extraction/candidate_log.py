"""The register: what became of each candidate, so that nothing is stored or proposed twice. Local, append-only, one
JSON object a line; it holds ids and no words."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from mcp_memory.errors import StorageFailed
from mcp_memory.models import NoteId
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import append_line


class CandidateOutcome(StrEnum):
    WAITING = "waiting"
    ACTIVE = "active"
    """Stated outright, and no session was told of it yet."""
    TOLD = "told"
    """The same, and one was; see the digest."""
    KNOWN = "known"
    """Memory held it already; it has no note of its own."""
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
    """All of it in memory, each line durable before `note` returns. Thread-safe."""

    def __init__(self, file: Path) -> None:
        """Raises StorageFailed for a file that cannot be read."""
        self._file = file
        self._lock = threading.Lock()
        self._known: dict[NoteId, LoggedCandidate] = {}
        self._load()

    def find(self, note_id: NoteId) -> LoggedCandidate | None:
        return self._known.get(note_id)

    def with_outcomes(self, fates: Iterable[CandidateOutcome]) -> list[LoggedCandidate]:
        """In the order in which they came to these."""
        wanted = frozenset(fates)
        with self._lock:
            return sorted((each for each in self._known.values() if each.fate in wanted), key=lambda each: each.at)

    def note(self, note_id: NoteId, fate: CandidateOutcome, session: str, at: float) -> None:
        """Raises StorageFailed; then nothing was noted in memory either."""
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
                hint="let the user that runs mcp-memory read and write it; it tells which candidates were seen",
            ) from error
        for line in lines:
            try:
                said = json.loads(line)
                entry = LoggedCandidate(
                    NoteId(said["id"]), CandidateOutcome(said["fate"]), str(said["session"]), float(said["at"])
                )
            except (ValueError, TypeError, KeyError):
                continue  # cut short by a crash: that candidate is looked at again
            self._known[entry.id] = entry
