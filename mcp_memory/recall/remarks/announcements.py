"""Names the notes that were stored without review."""

from collections.abc import Sequence
from typing import Protocol

from mcp_memory.models import NoteId, NoteRecord
from mcp_memory.text.escape_invisible import in_quotes
from mcp_memory.text.language.sentences import beginning

MOST_NAMED, ID_CHARS = 3, 6
"""The most notes that a line names, and the characters of an id."""


class Announcer(Protocol):
    """Called in worker threads."""

    def announcements(self, project: str | None) -> list[NoteRecord]:
        """Return the notes that were stored without asking you and not yet announced to a session of this project."""
        ...

    def mark_announced(self, ids: Sequence[NoteId]) -> None:
        """Record that session starts have named these notes. Raises StorageFailed."""
        ...


def announcement(notes: Sequence[NoteRecord]) -> str:
    """Return one line about the notes with the way to undo; empty without notes."""
    if not notes:
        return ""
    named = ", ".join(map(_named, notes[:MOST_NAMED]))
    more = f" and {len(notes) - MOST_NAMED} more (mcp-memory review)" if len(notes) > MOST_NAMED else ""
    target = notes[0].id[-ID_CHARS:] if len(notes) == 1 else "ID"
    return f"Memory stored from your sessions: {named}{more}; to take one back: mcp-memory undo {target}"


def _named(note: NoteRecord) -> str:
    old = ", ".join(replaced[-ID_CHARS:] for replaced in note.supersedes)
    return f"{in_quotes(beginning(note.title))} [{note.id[-ID_CHARS:]}{f', in place of {old}' if old else ''}]"
