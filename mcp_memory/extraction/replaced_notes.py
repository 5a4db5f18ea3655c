"""Finds the notes that a new statement replaces."""

from collections.abc import Sequence

from mcp_memory.conflicts.detector import Contradiction, NoteText
from mcp_memory.conflicts.replacement import replacement
from mcp_memory.extraction.comparison import ABOUT_A_CHANGE, ABOUT_THE_SAME, likeness
from mcp_memory.extraction.statements.cues import has_cue
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan, StatedText
from mcp_memory.models import NoteId, NoteState, Passage

Contrary = tuple[StatedText, Contradiction]


def find_replaced(
    new: NoteText,
    taken_back: NoteId | None,
    near: Sequence[tuple[Passage, float]],
    index: Index,
    conflicts: ConflictScan,
) -> list[Contrary]:
    """The note that it takes back, or what it contradicts; else, if it tells of a change, the note that is about the
    same. Raises IndexUnavailable."""
    for note in index.note_by_id(taken_back) if taken_back else ():
        if note.state is NoteState.ACTIVE:
            old = StatedText(note.id, note.path, NoteText(note.title, note.title, note.kind, note.project))
            return [(old, Contradiction(note.title, None, outright=True))]
    found = conflicts.contradicted_by(new)
    if found or not has_cue(new.text.lower(), "change", "prefer", "norm"):
        return found
    others = [
        (likeness(new.text, passage.chunk.text, cosine), passage)
        for passage, cosine in near
        if passage.note.state is NoteState.ACTIVE and not passage.note.is_log and passage.note.project == new.project
    ]
    share, closest = max(others, key=lambda pair: pair[0], default=(0.0, None))
    if closest is None or share < (ABOUT_A_CHANGE if has_cue(new.text.lower(), "change") else ABOUT_THE_SAME):
        return []
    note = closest.note
    text = closest.chunk.text.strip()
    old = StatedText(note.id, note.path, NoteText(text, note.title, note.kind, note.project), note.created)
    return [(old, replacement(old.note))]


def outright_replaced(contrary: Sequence[Contrary]) -> Contrary | None:
    """The one older statement of which the words say that it holds no more; None if there are several."""
    found = [one for one in contrary if one[1].outright]
    return found[0] if len(found) == 1 else None


def title_now(stated: StatedText, why: Contradiction) -> str | None:
    """The replaced note's title with the new value: `We moved it from 8087 to 8090` doesn't say what `it` is."""
    return stated.note.title.replace(why.before, why.after) if why.after else None
