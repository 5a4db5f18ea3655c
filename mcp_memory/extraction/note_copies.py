"""Recognizes a note that repeats a candidate or an extracted note."""

from collections.abc import Iterable, Sequence

from mcp_memory.extraction.kept import are_swapped, is_same_duty
from mcp_memory.models import NoteRecord
from mcp_memory.search.note_lookup import NearPassage
from mcp_memory.statements.candidate import Candidate
from mcp_memory.statements.lessons import same_lesson
from mcp_memory.text.dates.due import find_due
from mcp_memory.text.language.denials import denies
from mcp_memory.vault.config import COMMITMENT
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.ownership import is_persons


def is_known_from(near: NearPassage, candidate: Candidate) -> bool:
    """Return whether a passage says the same as a candidate, for the same day."""
    if candidate.due and not str(near.passage.note.meta.get("due")).startswith(candidate.due.day.isoformat()):
        return False
    known = near.passage.chunk.text.strip()
    if candidate.due and are_swapped(candidate.statement, known):
        return False
    return near.compare(candidate.text).says_the_same or same_lesson(candidate.text, known)


def find_same(copy: NoteFile, near: Iterable[NearPassage], stored: Sequence[str]) -> NoteRecord | None:
    """Return a note that says the same as an extracted note; a log entry isn't enough. A note has
    the same duty if it is for the same day and not for another time. `stored`: the texts that the agent has just
    stored, whose duties may lack the day. A note that forbids something always stays."""
    text, due = copy.body.partition("\n\n> ")[0].strip(), str(copy.record.meta.get("due", ""))
    for one in near if not denies(text) else ():
        note, known = one.passage.note, one.passage.chunk.text.strip()
        if one.is_waiting or note.is_log or note.path == copy.record.path or denies(known):
            continue
        if copy.record.kind != COMMITMENT:
            if one.compare(text).says_the_same:
                return note
            continue
        if is_persons(note) or note.project != copy.record.project or note.kind not in {"fact", "note", COMMITMENT}:
            continue
        named = find_due(known, copy.record.created) if copy.record.created else None
        day = str(note.meta.get("due", ""))
        if not day and f"\n{known}" in stored:
            day = str(named.day) if named else due[:10]
        if named and named.at and str(named.at)[:5] != due[11:16]:
            continue
        if day and (not due or day[:16] in (due[:10], due[:16])) and is_same_duty(text, known):
            return note
    return None
