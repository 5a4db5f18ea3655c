"""Names the notes that were stored without review."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mcp_memory.models import NoteId, NoteRecord, PrivateMarks
from mcp_memory.text.escape_invisible import in_quotes

MOST_NAMED, MOST_CHARS, ID_CHARS = 3, 80, 6
"""The most notes that a line names, the most characters of a title, and the characters of an id."""


class Announcer(Protocol):
    """Called in worker threads."""

    def announcements(self, project: str | None) -> list[NoteRecord]:
        """Return the notes that were stored without asking you and not yet announced to a session of this project."""
        ...

    def mark_announced(self, ids: Sequence[NoteId]) -> None:
        """Record that session starts have named these notes. Raises StorageFailed."""
        ...


@dataclass(frozen=True)
class Announcements:
    """The notes that features stored without review, except private notes. For worker threads."""

    private: PrivateMarks
    announcers: list[Announcer] = field(default_factory=list[Announcer])

    def waiting(self, project: str | None) -> list[NoteRecord]:
        """Return the notes that a session of this project hasn't been shown."""
        found = [note for announcer in self.announcers for note in announcer.announcements(project)]
        return [note for note in found if not self.private.cover(note)]

    def mark(self, ids: Sequence[NoteId]) -> None:
        """Record that a session start has named these notes. Raises StorageFailed."""
        for announcer in self.announcers:
            announcer.mark_announced(ids)


def announcement(notes: Sequence[NoteRecord]) -> str:
    """Return one line about the notes with the way to undo; empty without notes."""
    if not notes:
        return ""
    named = ", ".join(f"{in_quotes(note.title[:MOST_CHARS])} [{note.id[-ID_CHARS:]}]" for note in notes[:MOST_NAMED])
    more = f" and {len(notes) - MOST_NAMED} more (mcp-memory review)" if len(notes) > MOST_NAMED else ""
    target = notes[0].id[-ID_CHARS:] if len(notes) == 1 else "ID"
    return f"Memory stored from your sessions: {named}{more}; to take one back: mcp-memory undo {target}"
