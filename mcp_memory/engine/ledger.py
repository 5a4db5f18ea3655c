"""The ledger: which notes this installation wrote. Local, append-only, one JSON object a line.

It decides ownership, since an `id` in a frontmatter can be forged, and it makes appends idempotent: a line is
written before its note is published, so a retry after an unanswered append finds out what became of it.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from mcp_memory.engine.durable import sync_folder
from mcp_memory.errors import StorageFailed
from mcp_memory.models import NoteId, NotePath


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """`at` is in seconds since the epoch."""

    id: NoteId
    path: NotePath
    content: str
    kind: str
    project: str | None
    session: str | None
    at: float


class Ledger:
    """All entries in memory, each durable on disk before `record` returns. Thread-safe."""

    def __init__(self, file: Path) -> None:
        """Raises StorageFailed for a file that cannot be read."""
        self._file = file
        self._lock = threading.Lock()
        self._paths: dict[str, set[NotePath]] = {}
        self._by_content: dict[tuple[str, str, str | None], list[LedgerEntry]] = {}
        self.damaged_lines = 0
        self._load()

    def __len__(self) -> int:
        return len(self._paths)

    def paths_of(self, note_id: NoteId) -> frozenset[NotePath]:
        """Where the note was written or adopted; it may have been moved since."""
        return frozenset(self._paths.get(note_id, ()))

    def written(self, content: str, kind: str, project: str | None) -> list[LedgerEntry]:
        """Every time this content was about to be written, oldest first."""
        return list(self._by_content.get((content, kind, project), ()))

    def record(self, entry: LedgerEntry) -> None:
        """Raises StorageFailed; then nothing was recorded in memory either."""
        line = json.dumps(asdict(entry), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            try:
                is_new = not self._file.exists()
                descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                try:
                    # A crash may have left half a line; a line break keeps ours apart from it.
                    size = os.fstat(descriptor).st_size
                    torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
                    data = b"\n" + line if torn else line
                    if os.write(descriptor, data) != len(data):
                        raise StorageFailed(
                            "the ledger was written only in part", hint="free space in the state folder"
                        )
                    os.fdatasync(descriptor)
                finally:
                    os.close(descriptor)
                if is_new:
                    sync_folder(self._file.parent)
            except OSError as error:
                raise StorageFailed(f"cannot write the ledger: {error.strerror}", hint=str(self._file)) from error
            self._remember(entry)

    def _load(self) -> None:
        try:
            with self._file.open(encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    try:
                        self._remember(LedgerEntry(**json.loads(line)))
                    except (ValueError, TypeError):
                        self.damaged_lines += 1
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageFailed(
                f"cannot read the ledger {self._file}: {error.strerror}",
                hint="let the user that runs mcp-memory read and write it; it tells which notes are the agents'",
            ) from error

    def _remember(self, entry: LedgerEntry) -> None:
        self._paths.setdefault(entry.id, set()).add(entry.path)
        self._by_content.setdefault((entry.content, entry.kind, entry.project), []).append(entry)
