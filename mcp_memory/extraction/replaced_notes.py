"""Finds the notes that a new statement replaces or repeats, and notes made from words that a person retracts or has
rejected."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from mcp_memory.capture.off_record_turns import TakenBack
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.comparison.comparison import say_the_same
from mcp_memory.comparison.same_form import Contradiction
from mcp_memory.comparison.values import CLAUSE, SETS
from mcp_memory.errors import McpMemoryError
from mcp_memory.extraction.candidate_log import FORGETTABLE, CandidateLog
from mcp_memory.extraction.kept import are_swapped, is_same_duty
from mcp_memory.index.base import Index
from mcp_memory.indexing.stated_texts import Contrary, StatedText
from mcp_memory.models import WRITTEN, Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.search.note_lookup import NearPassage
from mcp_memory.statements.candidate import Candidate, Voice
from mcp_memory.statements.corrections import words_of_its_own
from mcp_memory.statements.cues import CUE, has_cue, is_limited, patterns
from mcp_memory.statements.lessons import same_lesson
from mcp_memory.statements.statement_rules import SURE
from mcp_memory.text.conversation.own_words import lowered, masked
from mcp_memory.text.dates.due import find_due
from mcp_memory.text.language.denials import DENIES, denies
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import content_words, terms
from mcp_memory.vault.config import COMMITMENT
from mcp_memory.vault.draft import MAX_WORD
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.ownership import is_persons
from mcp_memory.vault.succession.retirement import retired_at
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import sources_of

MOST_NOTES = 10_000
NOT_REVERSED = frozenset({"log", "commitment"})
"""Kinds of notes with a history, or with reminders that nothing may silence."""
SAYS_MORE = 5
"""The number of content words from which an older note has something to say besides what is no longer true."""
FRESH = timedelta(days=30)
"""The maximum age of a statement stored without review. It allows for a daemon that was off during a holiday."""
MAX_REJECTED = 500
"""The number of your latest rejections with which new candidates are compared."""

_DOUBTS = re.compile(r"\b(?:ask|unsure|glaube?|denke|frag\w*|crois|pense|demande\w*|creo|pregunt\w*)\b")
"""Matches doubt in a form that `hedge` lacks."""
_PAST = re.compile(
    r"\b(?:was|were|used to|formerly|previously|back then|war|waren|wurden?|früher|damals|étai\w*|avant|autrefois|era"
    r"|eran|estaban?|antes)\b"
)
_DENIES_BEFORE = rf"{DENIES.pattern}(?: (?!from|von|(?<!lieu )(?<!vez )del?\b)[\w’']+){{0,2}}? [`\"']?"
"""Matches the denial of what is behind it, `not on port 8087`, but not of its change: `not move it from 8087`."""
_RULE = re.compile(
    r"\b(?:must|should|ha(?:s|ve) to|keep|always|at (?:least|most)|(?:more|less) than|up to|capped|muss|müssen|soll\w*"
    r"|immer|darf|dürfen|mindestens|höchstens|bis zu|doit|doivent|toujours|au (?:moins|plus)|debe[ns]?|siempre"
    r"|al menos|como máximo)\b"
)
_OTHERS = re.compile(r"\b(?:their|your|his|her|ihre?\w?|deren|dein\w*|leurs?|votre|vos|tes|ton|sus?|tus?)\b")
_ASKS = re.compile(r"(?:i )?(?:is|are|does|did|liegt|ist|sind|gilt|läuft|sollte|würde|wäre|könnte|hat|kann|wonder)\b")
_NO = re.compile(r"(?:^|(?<=[.!?] ))(?:no|nope|nein|nee?|nö|non)\b[,.!:;]+ ")
"""Matches a no to what was said before, which denies nothing in its own sentence."""
_ABOUT_IT = ("agreed", "change", "hedge", "norm", "relation")
"""The cues of words that say that something is decided, changed, supposed or so; they add nothing to it."""
_SCOPE = re.compile(r"(?:but |and )?(?:in|on|at|for|im|am|auf|bei|beim|für|dans|sur|chez|pour|en|para) (?P<scope>.+)")


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
    return not has_doubt(candidate) and any(why.after and holds_for(candidate, stated, why) for stated, why in contrary)


def has_doubt(candidate: Candidate) -> bool:
    view = masked(candidate.said or candidate.statement)
    return has_cue(view, "hedge") or _DOUBTS.search(view) is not None


def holds_for(candidate: Candidate, stated: StatedText, why: Contradiction) -> bool:
    """Return whether the person states something, not about the past, nor for a place or time that the note doesn't
    name: `in the test fixture`."""
    view = masked(candidate.said or candidate.statement)
    is_said = candidate.voice is Voice.SAID and not candidate.statement.rstrip().endswith("?")
    return is_said and not _PAST.search(_up_to(view, lowered(why.after or ""))[0]) and not _limits(view, stated)


def _limits(clause: str, stated: StatedText) -> bool:
    """Return whether a clause begins with a place or time that the note doesn't name."""
    opening = _SCOPE.match(clause)
    words = [word for word in terms(opening["scope"]) if content_words(word)] if opening else []
    return bool(words) and not content_words(words[0]) <= content_words(f"{stated.note.title} {stated.note.text}")


def is_plain(candidate: Candidate, stated: StatedText, why: Contradiction) -> bool:
    """Return whether a statement about your own thing denies only the old value, on no condition. Up to the clause with
    the new value it says nothing that the note lacks; a reason or task may follow. Corrections and retractions within a
    session were examined there."""
    statement = lowered(f"{candidate.statement} {candidate.said}")
    before, after = lowered(why.before), lowered(why.after or "")
    if not before.strip() or {*_OTHERS.findall(statement)} - {*_OTHERS.findall(lowered(stated.note.text))}:
        return False
    denied = re.sub(_DENIES_BEFORE + re.escape(before.partition(" ")[0]), "", _NO.sub("", statement))
    if is_limited(denied.replace(before, "").replace(after, "")) or (after and denies(denied)):
        return False
    telling = [one.text for one in sentences(candidate.statement) if why.after and why.after in one.text]
    told, *further = _up_to(lowered(telling[0]), after) if telling else [statement]
    known = lowered(f"{stated.note.title} {stated.note.text} {before} {after}")
    for pattern in (SETS, _DOUBTS, *(patterns(CUE)[cue] for cue in _ABOUT_IT)):
        told, known = pattern.sub(" ", told), pattern.sub(" ", known)
    return not words_of_its_own(told, known) and not any(_limits(clause, stated) for clause in further)


def _up_to(sentence: str, value: str) -> list[str]:
    """Return the part of a sentence up to the end of the clause with a value, then the other clauses. A sentence
    without the value is one part."""
    at = sentence.find(value)
    end = CLAUSE.search(sentence, at + len(value)) if value and at >= 0 else None
    return [sentence[: end.start()], *map(str.strip, CLAUSE.split(sentence[end.end() :]))] if end else [sentence]


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
    if len(found) != 1 or has_doubt(candidate):
        return None
    stated, why = found[0]
    if not holds_for(candidate, stated, why) or not is_plain(candidate, stated, why):
        return None
    is_outright = candidate.outright and candidate.score >= SURE
    if not _ends_with_value(candidate, stated, why) or not (is_outright or _gives_only_value(candidate, stated, why)):
        return None
    kept = content_words(f"{candidate.statement} {why.before} {title_now(stated, why)}")
    return found[0] if len(content_words(stated.note.text) - kept) < SAYS_MORE else None


def _ends_with_value(candidate: Candidate, stated: StatedText, why: Contradiction) -> bool:
    """Return whether a statement ends with the clause that has the new value or denies the old value, and the note is
    one sentence. `… to 100, just to see what breaks` goes on."""
    _, *further = _up_to(lowered(candidate.statement), lowered(why.after or ""))
    rest = content_words(" ".join(further)) - content_words(f"{why.before} please bitte")
    return not rest and len(sentences(stated.note.text)) <= 1


def find_contested(contrary: Sequence[Contrary], candidate: Candidate) -> list[NoteId]:
    """Return the latest earlier note that the person corrects, though perhaps with doubt. A rule isn't held back by a
    doubt."""
    for stated, why in contrary:
        is_later = candidate.at is not None and stated.when is not None and stated.when > candidate.at
        if is_later or stated.note.kind in NOT_REVERSED or not holds_for(candidate, stated, why):
            continue
        if why.after and is_plain(candidate, stated, why) and _gives_only_value(candidate, stated, why):
            return [stated.id]
    return []


def _gives_only_value(candidate: Candidate, stated: StatedText, why: Contradiction) -> bool:
    """Return whether a plain statement and the note only give the value of the same thing. The note has no rule, bound
    or exception, and the statement isn't a question by its word order."""
    note = lowered(f"{stated.note.title} {stated.note.text} {why.before}")
    return not (_RULE.search(note) or denies(note) or _ASKS.match(lowered(candidate.statement)))


def title_now(stated: StatedText, why: Contradiction) -> str | None:
    """Return the replaced note's title with the new value, because `We moved it from 8087 to 8090` doesn't name the
    subject. A title with both values has a reason that isn't true of the new one."""
    title = stated.note.title
    return (
        title.replace(why.before, why.after) if why.after and why.before in title and why.after not in title else None
    )


def is_known_from(near: NearPassage, candidate: Candidate) -> bool:
    """Return whether a passage says the same as a candidate, for the same day."""
    if candidate.due and not str(near.passage.note.meta.get("due")).startswith(candidate.due.day.isoformat()):
        return False
    known = near.passage.chunk.text.strip()
    if candidate.due and are_swapped(candidate.statement, known):
        return False
    if near.compare(candidate.text).says_the_same or same_lesson(candidate.text, known):
        return True
    return candidate.voice is Voice.PROMISED and is_same_duty(candidate.statement, known)


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
