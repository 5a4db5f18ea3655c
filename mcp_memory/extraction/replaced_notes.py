"""Finds the notes that a new statement replaces."""

from collections.abc import Sequence

from mcp_memory.conflicts.detector import Contradiction, NoteText
from mcp_memory.conflicts.overtaken import replacement
from mcp_memory.extraction.comparison import likeness
from mcp_memory.extraction.statements.classifier import likelihood
from mcp_memory.extraction.statements.cues import has_cue
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan, StatedText
from mcp_memory.models import NoteId, NoteState, Passage
from mcp_memory.text.language.facts import FactKind, facts
from mcp_memory.text.language.terms import content_words

REPLACES = 0.2
"""Likelihood from which on the closest note is probably replaced: of 323 facts replaced in 76 sessions, judged by
weights that hadn't seen them, 58 % are noticed then with the model, and 7 of 10 notes named are right."""

Contrary = tuple[StatedText, Contradiction]


def find_replaced(
    new: NoteText,
    taken_back: NoteId | None,
    near: Sequence[tuple[Passage, float]],
    index: Index,
    conflicts: ConflictScan,
) -> list[Contrary]:
    """The note that it takes back, or what it contradicts; else the one of the near notes that it most likely replaces.
    Raises IndexUnavailable."""
    for note in index.note_by_id(taken_back) if taken_back else ():
        if note.state is NoteState.ACTIVE:
            old = StatedText(note.id, note.path, NoteText(note.title, note.title, note.kind, note.project))
            return [(old, Contradiction(note.title, None, outright=True))]
    if found := conflicts.contradicted_by(new):
        return found
    notes = {
        passage.note.path: (passage, cosine)
        for passage, cosine in sorted(near, key=lambda one: one[1])
        if passage.note.state is NoteState.ACTIVE and not passage.note.is_log and passage.note.project == new.project
    }.values()
    closeness = [cosine for _, cosine in notes]
    if not any(closeness):  # without a model
        closeness = [likeness(new.text, passage.chunk.text) for passage, _ in notes]
    others = [
        (likelihood("replaces", replacement_features(new.text, passage.chunk.text.strip(), closeness, at)), passage)
        for at, (passage, _) in enumerate(notes)
    ]
    likely, closest = max(others, key=lambda pair: pair[0], default=(0.0, None))
    if closest is None or likely < REPLACES:
        return []
    note = closest.note
    text = closest.chunk.text.strip()
    old = StatedText(note.id, note.path, NoteText(text, note.title, note.kind, note.project), note.created)
    return [(old, replacement(old.note))]


def replacement_features(new: str, old: str, closeness: Sequence[float], at: int) -> list[float]:
    """What the classifier sees of a new statement and the note at this place of those near it, given how close each
    is."""
    words, known, of_new, of_old = content_words(new), content_words(old), facts(new), facts(old)

    def differ(*kinds: FactKind) -> list[float]:
        one, two = ({fact for fact in found if fact.kind in kinds} for found in (of_new, of_old))
        return [float(bool(one & two)), float(bool(one - two and two - one)), float(bool(two) and not one)]

    near, changes = closeness[at], has_cue(new.lower(), "change")
    rest = max((one for place, one in enumerate(closeness) if place != at), default=0.0)
    both = words & known
    return [
        near, near - rest, near * changes, float(changes), float(has_cue(new.lower(), "norm")),
        likeness(new, old), len(both) / max(len(words | known), 1), len(both) / max(len(known), 1), float(len(both)),
        *differ(FactKind.NUMBER, FactKind.DATE, FactKind.IDENTIFIER), *differ(FactKind.NAME),
    ]  # fmt: skip


def outright_replaced(contrary: Sequence[Contrary]) -> Contrary | None:
    """The one older statement of which the words say that it holds no more; None if there are several."""
    found = [one for one in contrary if one[1].outright]
    return found[0] if len(found) == 1 else None


def title_now(stated: StatedText, why: Contradiction) -> str | None:
    """The replaced note's title with the new value: `We moved it from 8087 to 8090` doesn't say what `it` is."""
    return stated.note.title.replace(why.before, why.after) if why.after else None
