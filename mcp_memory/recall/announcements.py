"""Writes what a session start says about notes that were stored without asking you."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mcp_memory.models import NoteId, NoteRecord
from mcp_memory.text.escape_invisible import in_quotes


class Announcer(Protocol):
    """Called in worker threads."""

    def announcements(self, project: str | None) -> list[NoteRecord]:
        """The notes that a session of this project has not been told of yet."""
        ...

    def mark_announced(self, ids: Sequence[NoteId]) -> None:
        """A session start has named these notes. Raises StorageFailed."""
        ...


def line_of(note: NoteRecord, *, is_quoted: bool) -> str:
    """How a session is told of a note. `is_quoted`: what it says, and when, stands above already."""
    said = f" on {note.created.date().isoformat()}" if note.created else ""
    contrary = ", ".join(note.meta.get("contradicts", ()))
    against = f"; contradicts {contrary}" if contrary else ""
    undo = f"undo: mcp-memory review --undo {note.id}"
    if is_quoted:
        return f"Stored because the person said so: {in_quotes(note.path)} ({undo}{against})"
    return f"Stored because the person said so{said}: {in_quotes(note.title)} [{note.kind}] ({undo}{against})"
