"""What came of a write."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_memory.models import NotePath, Outcome
from mcp_memory.vault.note_file import NoteFile

ATTEMPTS = 200
"""How often a compare-and-swap is tried again when other writers are faster."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """A note as it stands after a write; `entry` is the hash of the log entry that was written."""

    file: NoteFile
    outcome: Outcome
    entry: str | None = None
    conflict: NotePath | None = None
