"""Describe the note that replaced a superseded note."""

from collections.abc import Iterable

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Passage
from mcp_memory.text.escape_invisible import in_line
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.succession.chains import Chains
from mcp_memory.vault.succession.entry_marks import note_of

NOW_CHARS = 200
"""The most characters of the replacement's text."""


def successor_of(chains: Chains, file: NoteFile) -> tuple[str, NoteFile | None]:
    """Return a line about a superseded note or entry, and the active note that replaced it."""
    record, head = file.record, chains.holding(file)
    name = record.id if "#" in record.id else record.path
    if record.superseded_at is None:
        return in_line(f"Note: {name} counts again: what had superseded it was forgotten or is gone."), None
    by = f" by {head.record.id} ({head.record.path})" if head else ""
    day = record.superseded_at.date()
    return in_line(f"Note: {name} was superseded{by}{f' on {day.isoformat()}' if day.year > 1 else ''}."), head


def remarks_on(chains: Chains, passages: Iterable[Passage]) -> list[str]:
    """Return a line, with the current text, for each superseded note or entry of the passages. Reads files."""
    remarks: list[str] = []
    for note_id in dict.fromkeys(passage.shown_id for passage in passages if note_of(passage).superseded_at):
        try:
            remark, head = successor_of(chains, chains.require(note_id))
        except McpMemoryError:
            continue  # gone since it was indexed
        text = in_line(" ".join(head.body.split())[:NOW_CHARS]) if head else ""
        remarks.append(f"{remark} {text}".strip())
    return remarks
