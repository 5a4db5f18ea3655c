"""Names the notes that were stored without review, and who said them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mcp_memory.models import NoteId, NoteRecord, PrivateMarks
from mcp_memory.text.escape_invisible import in_quotes

_REASONS = {
    "said": "Stored because the person said so",
    "agreed": "Stored because the person agreed to it",
    "wrote": "Stored because the person wrote it in a log",
}
_UNKNOWN = "Stored from a session without review"
"""Notes of earlier versions don't record who said it."""


class Announcer(Protocol):
    """Called in worker threads."""

    def announcements(self, project: str | None) -> list[NoteRecord]:
        """Return the notes that were stored without asking you and not yet announced to a session of this project."""
        ...

    def mark_announced(self, ids: Sequence[NoteId]) -> None:
        """Record that session starts have named these notes. Raises StorageFailed."""
        ...


@dataclass(frozen=True, slots=True)
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


def announcement(note: NoteRecord, *, is_quoted: bool) -> str:
    """Return one line with the undo. `is_quoted`: the text above already quotes the note with its date."""
    reason = _REASONS.get(note.meta.get("voice", ""), _UNKNOWN)
    when = f" on {note.created.date().isoformat()}" if note.created else ""
    contradicted = ", ".join(note.meta.get("contradicts", ()))
    undo = f"undo: mcp-memory undo {note.id}" + (f"; contradicts {contradicted}" if contradicted else "")
    undo += f"; in place of {', '.join(note.supersedes)}, which counts again after an undo" if note.supersedes else ""
    if is_quoted:
        return f"{reason}: {in_quotes(note.path)} ({undo})"
    return f"{reason}{when}: {in_quotes(note.title)} [{note.kind}] ({undo})"
