"""Stores what was read in a session: at once, in place of a note, or as a proposal."""

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta

from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.core.core import Core
from mcp_memory.errors import NotFound, Refused
from mcp_memory.extraction.candidate_ingest import CandidateIngest
from mcp_memory.extraction.candidate_log import CandidateLog, CandidateOutcome
from mcp_memory.extraction.reading.reading_answer import ReadStatement, Verdict
from mcp_memory.extraction.reading.reading_prompt import ShownNote
from mcp_memory.extraction.session_notes import MOST_PROPOSALS, SURE, SessionNotes
from mcp_memory.indexing.contested_notes import CONTESTS
from mcp_memory.models import NoteId, NoteState, Outcome
from mcp_memory.runtime.threads import in_thread
from mcp_memory.statements.candidate import Candidate, StatementKind, id_of
from mcp_memory.text.dates.due import DueDate, find_due
from mcp_memory.text.markdown.frontmatter import Value

PROPOSED = 0.6
"""The score of a proposal: between a leaning and an outright statement."""
_KEPT = frozenset({CandidateOutcome.ACTIVE, CandidateOutcome.WAITING})

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StatementStore:
    """Stores statements. `by`: the name of the language model that read them."""

    core: Core
    log: CandidateLog
    ingest: CandidateIngest
    notes: SessionNotes
    by: str

    async def store(
        self, statements: Sequence[ReadStatement], captured: CapturedMessages
    ) -> dict[CandidateOutcome, list[str]]:
        """Store statements in order; what is in memory already isn't stored again. Returns their words by outcome.
        Raises the errors of an append."""
        made = defaultdict[CandidateOutcome, list[str]](list)
        quoted = Counter[str]()
        async with self.ingest.lock:
            for statement in statements:
                candidate = _candidate(statement)
                if statement.verdict is Verdict.END and statement.of:
                    if self.ingest.must_wait(candidate):
                        made[CandidateOutcome.CROWDED_OUT].append(candidate.text)
                    else:
                        await self._end(candidate, statement.of, captured)
                    continue
                quoted[candidate.said] += 1
                if quoted[candidate.said] > 1:  # one sentence may state two things
                    candidate = replace(candidate, said=f"{candidate.said} {quoted[candidate.said]}")
                note_id = id_of(candidate, captured)
                if not await self.ingest.has(note_id, captured):
                    where = replace(captured, project=statement.project or captured.project)
                    outcome = await self._store(
                        statement, candidate, note_id, where, len(made[CandidateOutcome.WAITING])
                    )
                    await self.ingest.record(note_id, outcome, captured)
                    made[outcome].append(candidate.text)
                of, entry = statement.of, self.log.find(note_id)
                now = entry.outcome if entry else None
                is_sure, is_kept = now is CandidateOutcome.ACTIVE, now in _KEPT
                if of and is_kept and (is_sure or of.waits):  # it says it better
                    await self.notes.drop_read([of.id], captured.session, by=note_id if is_sure else None)
                elif of and statement.refutes and not is_kept:
                    await self.notes.hold([of.id], captured.session)
                if is_kept:
                    await self.notes.drop_worded(candidate.text, note_id, captured.session, is_stored=is_sure)
                if is_sure:
                    older = statement.older or of
                    await self.notes.drop_decided(candidate.statement, older and older.id, captured)
        return made

    async def _store(
        self,
        statement: ReadStatement,
        candidate: Candidate,
        note_id: NoteId,
        captured: CapturedMessages,
        proposed: int,
    ) -> CandidateOutcome:
        of = statement.of
        if of is None and await self.ingest.is_known(candidate, captured):
            return CandidateOutcome.KNOWN
        waits = not candidate.outright or self.ingest.must_wait(candidate)
        if waits and proposed >= MOST_PROPOSALS:
            return CandidateOutcome.CROWDED_OUT
        evidence, older = statement.evidence, statement.older
        draft = self.ingest.draft(candidate, note_id, captured, waits=waits)
        sources = dict.fromkeys(f"{captured.file}@{message.offset}" for message in evidence.messages)
        more: dict[str, Value] = {**draft.more, "by": self.by, "derived_from": [*sources]}
        more |= {"doubt": statement.doubt} if statement.doubt else {}
        if waits and (changed := older or (of if of and not of.waits else None)):
            more["contradicts"] = [changed.id]  # review offers to replace it
            is_persons = evidence.around and evidence.messages[0].is_persons
            if statement.refutes or (older and is_persons and not statement.refines(older)):
                more[CONTESTS] = [changed.id]
        place = await self.core.search.lookup.find(older.id) if older and not waits else None
        zone, until = self.core.vault.layout.tz, statement.until
        end = datetime.combine(until + timedelta(days=1), time.min, zone) if until else None
        project = None if statement.is_wide else of.project if of and not of.is_made_here else captured.project
        tags = (*filter(None, [statement.subject]), *draft.tags)
        draft = replace(draft, tags=tags, project=project, expires_at=end, when=statement.when, more=more)
        try:
            receipt = await self.ingest.append_in_place(draft, place)
        except Refused as error:
            logger.warning("what was read was refused: %s", error.code)
            return CandidateOutcome.KNOWN
        if receipt.outcome is Outcome.DUPLICATE:
            return CandidateOutcome.KNOWN
        return CandidateOutcome.WAITING if waits else CandidateOutcome.ACTIVE

    async def _end(self, candidate: Candidate, of: ShownNote, captured: CapturedMessages) -> None:
        """Take a note that no longer holds out of all answers; a commitment is done."""
        said = re.sub(r"\b\d{1,2}[:h]\d\d\b", " ", candidate.text)  # the hour at which it was done
        moved = find_due(said, candidate.at) if candidate.at else None
        is_done = of.kind == StatementKind.COMMITMENT and not moved
        with suppress(NotFound):
            place = await self.core.search.lookup.find(of.id)
            note = (await in_thread(self.core.vault.read, place[0], what="reading what ends")).record
            # what replaced another note for a time lets that note count again
            closes = note.state is NoteState.ACTIVE and not note.is_log and (is_done or not note.expires_at)
            why = f"ended, as {self.by} read"
            await self.notes.retire(place, captured, why, done=is_done if closes else None)


def _candidate(statement: ReadStatement) -> Candidate:
    """Return the candidate, which is known again by its quotations, however a model words the statement."""
    is_sure = statement.verdict is not Verdict.PROPOSE
    evidence = statement.evidence
    candidate = Candidate.from_message(
        evidence.messages[0],
        statement.kind,
        f"{statement.text}\n\n> {evidence.text}",
        SURE if is_sure else PROPOSED,
        is_sure,
        title=statement.text.partition("\n")[0],
        said=f"read: {evidence.text}",
        voice=evidence.voice,
    )
    return replace(candidate, due=DueDate(statement.due) if statement.due else None)
