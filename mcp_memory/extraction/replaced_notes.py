"""Finds the notes that a new statement replaces, and notes made from words that a person retracts or has rejected."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from mcp_memory.capture.off_record_turns import TakenBack
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.comparison.comparison import say_the_same
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.same_form import Contradiction
from mcp_memory.errors import McpMemoryError
from mcp_memory.extraction.candidate_log import FORGETTABLE, CandidateLog
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.indexing.stated_texts import Contrary, StatedText
from mcp_memory.models import WRITTEN, Filters, NoteId, NotePath, NoteState
from mcp_memory.statements.candidate import Candidate, Voice
from mcp_memory.statements.corrections import words_of_its_own
from mcp_memory.statements.cues import CUE, has_cue, is_limited, patterns
from mcp_memory.text.conversation.own_words import lowered, masked
from mcp_memory.text.language.denials import DENIES, denies
from mcp_memory.text.language.terms import content_words, terms
from mcp_memory.vault.draft import MAX_WORD
from mcp_memory.vault.succession.retirement import retired_at
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import sources_of

MOST_NOTES = 10_000
SAYS_MORE = 5
"""The number of content words from which an older note has something to say besides what is no longer true."""
FRESH = timedelta(days=30)
"""The maximum age of a statement stored without review. It allows for a daemon that was off during a holiday."""
MAX_REJECTED = 500
"""The number of your latest rejections with which new candidates are compared."""

_UNSURE = re.compile(
    r"\b(?:ask|unsure|glaube?|denke|frag\w*|crois|pense|demande\w*|creo|pregunt\w*|was|were|used to|formerly|previously"
    r"|back then|war|waren|wurden?|früher|damals|étai\w*|avant|autrefois|era|eran|estaban?|antes)\b"
)
"""Matches doubt, also in a form that `hedge` lacks, and the past."""
_DENIES_BEFORE = rf"{DENIES.pattern}(?: (?!from|von|(?<!lieu )(?<!vez )del?\b)[\w’']+){{0,2}}? [`\"']?"
"""Matches the denial of what is behind it, `not on port 8087`, but not of its change: `not move it from 8087`."""
_ABOUT_IT = ("agreed", "change", "norm", "relation")
"""The cues of words that say that something is decided, changed or so; they add nothing to it."""
_SCOPE = re.compile(r"(?:but |and )?(?:in|on|at|for|im|am|auf|bei|beim|für|dans|sur|chez|pour|en|para) (?P<scope>.+)")


def find_replaced(new: NoteText, taken_back: NoteId | None, index: Index, conflicts: ConflictScan) -> list[Contrary]:
    """Return the note that the statement retracts, or else the notes that it contradicts. Raises IndexUnavailable."""
    for note in index.note_by_id(taken_back) if taken_back else ():
        if note.state is NoteState.ACTIVE:
            old = StatedText(note.id, note.path, NoteText(note.title, note.title, note.kind, note.project))
            return [(old, Contradiction(note.title, None, outright=True))]
    return conflicts.contradicted_by(new)


@dataclass(frozen=True)
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


def states_new_value(candidate: Candidate, contrary: Sequence[Contrary]) -> bool:
    """Return whether the person plainly states, rather than asks or supposes, another value for something in memory."""
    is_said = candidate.voice is Voice.SAID and not candidate.statement.rstrip().endswith("?")
    return is_said and any(why.after and _holds_for(candidate, stated) for stated, why in contrary)


def _holds_for(candidate: Candidate, stated: StatedText) -> bool:
    """Return whether a statement has no doubt, isn't about the past, and doesn't begin with a place or time that the
    note doesn't name: `in the test fixture`."""
    view = masked(candidate.said or candidate.statement)
    if has_cue(view, "hedge") or _UNSURE.search(view):
        return False
    opening = _SCOPE.match(view)
    words = [word for word in terms(opening["scope"]) if content_words(word)] if opening else []
    return not words or content_words(words[0]) <= content_words(f"{stated.note.title} {stated.note.text}")


def _is_plain(candidate: Candidate, stated: StatedText, why: Contradiction) -> bool:
    """Return whether a statement denies nothing but the old value, on no condition, and says nothing that the note
    lacks. Corrections and retractions within a session were examined there."""
    if candidate.instead_of:
        return True
    statement = lowered(f"{candidate.statement} {candidate.said}")
    before, after = lowered(why.before), lowered(why.after or "")
    denied = re.sub(_DENIES_BEFORE + re.escape(before.split()[0]), "", statement)
    if is_limited(denied.replace(before, "").replace(after, "")) or (after and denies(denied)):
        return False
    for cue in _ABOUT_IT:
        statement = patterns(CUE)[cue].sub(" ", statement)
    return not words_of_its_own(statement, f"{stated.note.text} {before} {after}")


def is_past(candidate: Candidate, contrary: Sequence[Contrary], now: datetime) -> bool:
    """Return whether the candidate may be outdated: it is old, or a later note contradicts it."""
    at = candidate.at
    return at is not None and (
        now - at > FRESH or any(stated.when is not None and stated.when > at for stated, _ in contrary)
    )


def outright_replaced(contrary: Sequence[Contrary], candidate: Candidate) -> Contrary | None:
    """Return the older statement that the candidate explicitly rejects; None if there are several, or if the older note
    says more than that."""
    found = [one for one in contrary if one[1].outright]
    if len(found) != 1:
        return None
    stated, why = found[0]
    if candidate.voice is not Voice.SAID or not _holds_for(candidate, stated) or not _is_plain(candidate, stated, why):
        return None
    kept = content_words(f"{candidate.statement} {why.before} {title_now(stated, why)}")
    return found[0] if len(content_words(stated.note.text) - kept) < SAYS_MORE else None


def title_now(stated: StatedText, why: Contradiction) -> str | None:
    """Return the replaced note's title with the new value, because `We moved it from 8087 to 8090` doesn't name the
    subject. A title with both values has a reason that isn't true of the new one."""
    title = stated.note.title
    return (
        title.replace(why.before, why.after) if why.after and why.before in title and why.after not in title else None
    )
