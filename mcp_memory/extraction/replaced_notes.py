"""Finds the notes that a new statement replaces, and notes made from words that a person retracts or has rejected."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from mcp_memory.capture.off_record_turns import TakenBack
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.comparison.comparison import say_the_same
from mcp_memory.comparison.other_value import Contradiction, NoteText
from mcp_memory.comparison.overtaken import replacement
from mcp_memory.errors import McpMemoryError
from mcp_memory.extraction.candidate_log import FORGETTABLE, CandidateLog
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.indexing.stated_texts import Contrary, StatedText
from mcp_memory.models import WRITTEN, Filters, NoteId, NotePath, NoteState
from mcp_memory.search.near_notes import NearPassage
from mcp_memory.statements.candidate import Candidate
from mcp_memory.statements.classifier import likelihood
from mcp_memory.statements.cues import has_cue
from mcp_memory.text.language.facts import FactKind, facts
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_overlap import are_two, containment, coverage, jaccard
from mcp_memory.vault.draft import MAX_WORD
from mcp_memory.vault.succession.retirement import retired_at
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import sources_of

REPLACES = 0.2
"""The likelihood from which the closest note is probably replaced. Chosen on 323 replaced facts, with weights that
hadn't seen them, so that 7 of 10 named notes are right."""

MOST_NOTES = 10_000
MAX_REJECTED = 500
"""The number of your latest rejections with which new candidates are compared."""


def find_replaced(
    new: NoteText,
    taken_back: NoteId | None,
    near: Sequence[NearPassage],
    index: Index,
    conflicts: ConflictScan,
) -> list[Contrary]:
    """Return the note that the statement retracts, or the notes that it contradicts; otherwise the near note that it
    most likely replaces. Raises IndexUnavailable."""
    for note in index.note_by_id(taken_back) if taken_back else ():
        if note.state is NoteState.ACTIVE:
            old = StatedText(note.id, note.path, NoteText(note.title, note.title, note.kind, note.project))
            return [(old, Contradiction(note.title, None, outright=True))]
    if found := conflicts.contradicted_by(new):
        return found
    nearest: dict[NotePath, NearPassage] = {}
    for one in sorted(near, key=lambda one: one.cosine):
        note = one.passage.note
        if note.state is NoteState.ACTIVE and not note.is_log and note.project == new.project:
            nearest[note.path] = one
    texts = [one.passage.chunk.text.strip() for one in nearest.values()]
    closeness = [one.cosine for one in nearest.values()]
    if not any(closeness):  # no model is loaded
        closeness = [containment(content_words(new.text), content_words(text)) for text in texts]
    likelihoods = [
        likelihood("replaces", replacement_features(new.text, text, closeness, at)) for at, text in enumerate(texts)
    ]
    likely = max(likelihoods, default=0.0)
    if likely < REPLACES:
        return []
    closest = likelihoods.index(likely)
    note, text = [*nearest.values()][closest].passage.note, texts[closest]
    old = StatedText(note.id, note.path, NoteText(text, note.title, note.kind, note.project), note.created)
    return [(old, replacement(old.note))]


@dataclass(frozen=True, slots=True)
class RejectedCandidate:
    """A candidate that you dropped or forgot; `at` is in seconds since the epoch."""

    text: str
    at: float

    def rules_out(self, candidate: Candidate) -> bool:
        """Return whether the candidate says the same, unless you have stated it outright since."""
        is_later = candidate.outright and candidate.at is not None and candidate.at.timestamp() > self.at
        return not is_later and say_the_same(self.text, candidate.text)


def rejected_candidates(log: CandidateLog, index: Index, vault: Vault) -> list[RejectedCandidate]:
    """Return the latest readable rejections."""
    found: list[RejectedCandidate] = []
    known = ((entry, note) for entry in log.with_outcomes(FORGETTABLE) for note in index.note_by_id(entry.id))
    forgotten = [(entry, note) for entry, note in known if note.state is NoteState.DELETED]
    for entry, note in forgotten[-MAX_REJECTED:]:
        with suppress(McpMemoryError):  # the note is gone or was just moved: its id is enough to exclude it
            file = vault.read(note.path)
            at = retired_at(file)
            found.append(RejectedCandidate(file.body.strip(), at.timestamp() if at else entry.at))
    return found


def notes_made_of(captured: CapturedMessages, taken_back: TakenBack, index: Index, vault: Vault) -> list[NotePath]:
    """Return the notes, in any state, made from the words of a session that are taken back. Raises IndexUnavailable."""
    wanted = Filters(
        states=WRITTEN - {NoteState.TRANSCRIPT}, session=captured.session[:MAX_WORD] or None, foreign=False
    )
    found: list[NotePath] = []
    for note in index.notes(wanted, limit=MOST_NOTES):
        with suppress(McpMemoryError):  # the note was just moved or removed
            places = [source.rpartition("@") for source in sources_of(vault.read(note.path).text)]
            if any(file == captured.file and at.isdigit() and int(at) in taken_back for file, _, at in places):
                found.append(note.path)
    return found


def replacement_features(new: str, old: str, closeness: Sequence[float], at: int) -> list[float]:
    """Compute the classifier's features of a new statement and of the near note at index `at`, given the closeness of
    each near note."""
    words, known, of_new, of_old = content_words(new), content_words(old), facts(new), facts(old)

    def differ(*kinds: FactKind) -> list[float]:
        one = {fact for fact in of_new if fact.kind in kinds}
        two = {fact for fact in of_old if fact.kind in kinds}
        return [float(bool(one & two)), float(are_two(one, two)), float(bool(two) and not one)]

    near, changes = closeness[at], has_cue(new.lower(), "change")
    rest = max((one for place, one in enumerate(closeness) if place != at), default=0.0)
    return [
        near, near - rest, near * changes, float(changes), float(has_cue(new.lower(), "norm")),
        containment(words, known), jaccard(words, known), coverage(known, words), float(len(words & known)),
        *differ(FactKind.NUMBER, FactKind.DATE, FactKind.IDENTIFIER), *differ(FactKind.NAME),
    ]  # fmt: skip


def outright_replaced(contrary: Sequence[Contrary]) -> Contrary | None:
    """Return the older statement that the new statement explicitly rejects; None if there are several."""
    found = [one for one in contrary if one[1].outright]
    return found[0] if len(found) == 1 else None


def title_now(stated: StatedText, why: Contradiction) -> str | None:
    """Return the replaced note's title with the new value, because `We moved it from 8087 to 8090` doesn't name the
    subject."""
    return stated.note.title.replace(why.before, why.after) if why.after else None
