"""Names the notes that were stored without review, and who said them."""

from mcp_memory.models import NoteRecord
from mcp_memory.text.escape_invisible import in_quotes

_REASONS = {
    "said": "Stored because the person said so",
    "agreed": "Stored because the person agreed to it",
    "wrote": "Stored because the person wrote it in a log",
}
_UNKNOWN = "Stored from a session without review"
"""Notes of earlier versions don't record who said it."""


def announcement(note: NoteRecord, *, is_quoted: bool) -> str:
    """Return one line with the undo. `is_quoted`: the text above already quotes the note with its date."""
    reason = _REASONS.get(note.meta.get("voice", ""), _UNKNOWN)
    when = f" on {note.created.date().isoformat()}" if note.created else ""
    contradicted = ", ".join(note.meta.get("contradicts", ()))
    undo = f"undo: mcp-memory review --undo {note.id}" + (f"; contradicts {contradicted}" if contradicted else "")
    undo += f"; in place of {', '.join(note.supersedes)}, which counts again after an undo" if note.supersedes else ""
    if is_quoted:
        return f"{reason}: {in_quotes(note.path)} ({undo})"
    return f"{reason}{when}: {in_quotes(note.title)} [{note.kind}] ({undo})"
