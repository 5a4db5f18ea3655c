"""Stores the statements of a session that are worth remembering, once.

A statement replaces a note only if you say outright that the note's content has changed. Outright statements are stored
without review unless they are old; the best few of the others wait in `_inbox/`. The log records each outcome.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import anyio

from mcp_memory.capture.off_record_turns import on_record
from mcp_memory.capture.readers.message import ReaderContext, Transcript, TranscriptMessage
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.core.core import Core
from mcp_memory.core.verbs.erasing import Eraser
from mcp_memory.core.verbs.storing import append_for_source
from mcp_memory.errors import DeadlineExceeded, NotFound, Refused
from mcp_memory.extraction.candidate_log import CandidateLog, CandidateOutcome
from mcp_memory.extraction.commitments import read_new_entries, with_dates
from mcp_memory.extraction.config import ExtractionConfig
from mcp_memory.extraction.replaced_notes import (
    RejectedCandidate,
    find_contested,
    is_known_from,
    is_past,
    notes_made_of,
    outright_replaced,
    rejected_candidates,
    states_new_value,
    title_now,
)
from mcp_memory.extraction.reversed_notes import find_meant
from mcp_memory.extraction.session_notes import MOST_PROPOSALS, SURE, SessionNotes
from mcp_memory.indexing.contested_notes import CONTESTS
from mcp_memory.indexing.stated_texts import Contrary
from mcp_memory.models import Filters, NoteId, NoteState, Outcome, Receipt, is_closed
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import NearPassage, Place
from mcp_memory.statements.candidate import Candidate, Voice, id_of
from mcp_memory.statements.classifier import SentenceModel
from mcp_memory.statements.extractor import extract_candidates
from mcp_memory.statements.language import is_personal
from mcp_memory.text.markdown.frontmatter import Value
from mcp_memory.vault.config import LOG
from mcp_memory.vault.draft import CLOCKS_DIFFER, MAX_WORD, Draft
from mcp_memory.vault.note_file import INBOX

MAX_UNREVIEWED = 20
"""The most statements stored without review from one stretch of a session, so that no flood reaches every prompt."""
CONTEXT_MESSAGES, CONTEXT_SESSIONS = 12, 50

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class IngestResult:
    """The ids of notes stored without review and of notes that wait. `known`: candidates in memory or rejected."""

    active: tuple[NoteId, ...]
    waiting: tuple[NoteId, ...]
    known: int


class CandidateIngest:
    """Ingests one transcript at a time."""

    def __init__(self, core: Core, candidates: CandidateLog, session_notes: SessionNotes) -> None:
        self._core = core
        self._vault = core.vault
        self._index = core.index
        self._clock = core.clock
        self._config = core.config.section("extraction", ExtractionConfig)
        self._log = candidates
        self._session_notes = session_notes
        self._recent: dict[tuple[str, str], Transcript] = {}
        """The last messages of the latest sessions, which later messages may answer or retract."""
        self.lock = anyio.Lock()
        """Held while statements are compared with memory and stored."""

    async def ingest(self, captured: CapturedMessages) -> IngestResult:
        """Ingest new messages. Raises the errors of an append; calling it again then continues."""
        before, captured = self._on_record(captured)
        if captured.taken_back:
            given = captured, captured.taken_back, self._index, self._vault
            for path in await in_thread(notes_made_of, *given, what="looking for what was taken back"):
                await Eraser(self._core).erase(path, None)
        found = await self._find(captured, before)
        await self._session_notes.replace_copies(captured, before)
        await self._session_notes.drop_refuted(captured)
        ends, moved = await self._session_notes.mark_done(captured, before)  # they don't need a note of their own
        others = [one for one in found if not one.text.casefold().startswith(ends)]
        return await self._ingest([*moved, *others], captured)

    async def preview(self, captured: CapturedMessages) -> list[Candidate]:
        """Return the new candidates of these messages that would be stored, at once or for review."""
        messages, _ = on_record(captured.messages, ReaderContext())
        found = await self._with_dates(await self._find(replace(captured, messages=messages), ()), messages)
        new = [one for one in found if not self._log.find(id_of(one, captured))]
        likely = (one for one in new if not one.outright and one.score >= self._config.min_score)
        proposed = sorted(likely, key=lambda one: -one.score)[:MOST_PROPOSALS]
        return [one for one in new if one.outright or one in proposed]

    async def _find(self, captured: CapturedMessages, before: Transcript) -> list[Candidate]:
        embedder = await self._core.search.model.when_loaded()  # without it, others are found
        model = SentenceModel(embedder) if embedder else None
        given = captured.messages, model, before, captured.material
        return await in_thread(extract_candidates, *given, what="reading the transcript")

    async def _with_dates(self, found: Sequence[Candidate], messages: Transcript) -> list[Candidate]:
        zone, now = self._vault.layout.tz, self._clock()
        said = {message.offset: message.text for message in messages}
        dated = (with_dates(one, zone, now, said.get(one.offset, "")) for one in found)
        return await in_thread(list, dated, what="reading dates")

    def _on_record(self, captured: CapturedMessages) -> tuple[list[TranscriptMessage], CapturedMessages]:
        """Return the earlier messages of the session and the new messages, both without off-the-record parts."""
        key, offsets = (captured.file, captured.session), {message.offset for message in captured.messages}
        recent = [message for message in self._recent.pop(key, ()) if message.offset not in offsets]
        self._recent[key] = (*recent, *captured.messages)[-CONTEXT_MESSAGES:]
        while len(self._recent) > CONTEXT_SESSIONS:
            del self._recent[next(iter(self._recent))]
        context = ReaderContext()
        kept, _ = on_record(recent, context)
        messages, taken_back = on_record(captured.messages, context, lambda: kept)
        taken_back += captured.taken_back
        self._recent[key] = [one for one in self._recent[key] if one.offset not in captured.taken_back]
        before = [message for message in kept if message.offset not in taken_back]
        return before, replace(captured, messages=messages, taken_back=taken_back)

    async def ingest_logs(self) -> list[NoteId]:
        """Extract promises from the last two days' logs; return ids stored without review. Raises like `ingest`."""
        wanted = Filters(kinds=frozenset({LOG}), since=self._clock() - timedelta(days=2), foreign=False)
        stored = list[NoteId]()
        for note in await in_thread(self._index.notes, wanted, what="looking for logs"):
            given = self._vault, note.path, self._log
            while (reading := await in_thread(read_new_entries, *given, what="reading daily logs")).entries:
                for captured, found in reading.promises:
                    stored += (await self._ingest(found, captured)).active
                at = self._clock().timestamp()
                known = reading.entries, CandidateOutcome.KNOWN, "log", at
                await in_thread(self._log.record_all, *known, what="recording entries")
        return stored

    async def _ingest(self, candidates: Sequence[Candidate], captured: CapturedMessages) -> IngestResult:
        wanted = await self._with_dates(candidates, captured.messages)
        made = defaultdict[CandidateOutcome, list[NoteId]](list)
        async with self.lock:
            rejected = await self._rejected()
            for candidate in wanted:
                note_id = id_of(candidate, captured)
                must_wait = len(made[CandidateOutcome.ACTIVE]) >= MAX_UNREVIEWED
                outcome = await self._store(candidate, note_id, captured, rejected, must_wait=must_wait)
                made[outcome].append(note_id)
        still_waiting = {one.id for one in self._log.with_outcomes([CandidateOutcome.WAITING])}
        active = made[CandidateOutcome.ACTIVE]
        waiting = [note_id for note_id in made[CandidateOutcome.WAITING] if note_id in still_waiting]
        return IngestResult(tuple(active), tuple(waiting), len(made[CandidateOutcome.KNOWN]))

    async def _store(
        self,
        candidate: Candidate,
        note_id: NoteId,
        captured: CapturedMessages,
        rejected: Sequence[RejectedCandidate],
        *,
        must_wait: bool,
    ) -> CandidateOutcome:
        """Store a candidate; return KNOWN if it isn't new, or perhaps only a task."""
        if await self.has(note_id, captured):
            return CandidateOutcome.KNOWN
        taken_back = candidate.replaces or await self._session_notes.find_restated(candidate, captured)
        taken_back = taken_back or (candidate.instead_of and id_of(candidate.instead_of, captured))
        conflicts = self._core.indexing.conflicts
        given = candidate, taken_back, captured.project, self._index, conflicts.texts
        meant, candidate = await in_thread(find_meant, *given, what="looking for what is taken back")
        ends = meant[0] if len(meant) == 1 else None
        near = await self._nearest_unless_known(candidate, captured, rejected, proposed=True)
        if near is None and not meant:
            await self.record(note_id, CandidateOutcome.KNOWN, captured)
            return CandidateOutcome.KNOWN
        await self._session_notes.drop_proposal(taken_back, captured.session)
        new = NoteText(candidate.statement, "", candidate.kind, captured.project, captured.session[:MAX_WORD])
        contrary = meant or await in_thread(conflicts.contradicted_by, new, what="looking for contradictions")
        contested = [one.id for one, _ in meant] or find_contested(contrary, candidate)
        is_outright = candidate.outright and candidate.score >= SURE
        is_sure = is_outright or (not meant and states_new_value(candidate, contrary))
        is_vague = not meant and candidate.reverses is not None and candidate.reverses.context is not None
        if candidate.score < self._config.min_score and (is_vague or not contested):
            return CandidateOutcome.KNOWN
        must_wait = must_wait or not self._config.auto_accept or is_past(candidate, contrary, self._clock())
        is_named = ends is not None and ends[1].outright
        waits = must_wait or not (is_sure or (is_named and candidate.reverses and candidate.voice is Voice.SAID))
        if ends and is_named and not (waits or ends[1].after) and candidate.reverses and not candidate.reverses.now:
            await self._session_notes.retire((ends[0].path, None), captured, "taken back in a session")
            await self.record(note_id, CandidateOutcome.KNOWN, captured)
            return CandidateOutcome.KNOWN
        is_proposal = waits and candidate.score < SURE
        if is_proposal and not await self._session_notes.has_room(candidate, captured.session):
            await self.record(note_id, CandidateOutcome.CROWDED_OUT, captured)
            return CandidateOutcome.CROWDED_OUT
        try:
            replaced = None if waits else ends if is_named else outright_replaced(contrary, candidate)
            draft = self.draft(candidate, note_id, captured, contrary, replaced, contested, waits=waits)
            place = (replaced[0].path, replaced[0].id.partition("#")[2] or None) if replaced else None
            receipt = await self.append_in_place(draft, place)
        except Refused as error:  # a refused candidate must not prevent the others from being stored
            log.warning("a candidate was refused: %s", error.code)
            return CandidateOutcome.KNOWN
        if receipt.outcome is Outcome.UNKNOWN:
            raise DeadlineExceeded("storing a candidate took too long", hint="the same call again does the rest")
        kept = CandidateOutcome.WAITING if waits else CandidateOutcome.ACTIVE
        outcome = CandidateOutcome.KNOWN if receipt.outcome is Outcome.DUPLICATE else kept
        await self.record(note_id, outcome, captured)
        if await self._session_notes.replace_copy(receipt.path, near or (), captured):
            return CandidateOutcome.COPIED
        if is_proposal:
            await self._session_notes.drop_weakest(captured.session)
        return outcome

    async def _nearest_unless_known(
        self, candidate: Candidate, captured: CapturedMessages, rejected: Sequence[RejectedCandidate], *, proposed: bool
    ) -> list[NearPassage] | None:
        """Return the nearest passages; None if one says the same (if it waits: `proposed`) or you rejected it."""
        if any(one.rules_out(candidate) for one in rejected):
            return None
        found = await self._core.search.near_notes.nearest(candidate.text, project=captured.project)
        near = [one for one in found if one.passage.note.path != captured.file]  # a log contains its statements
        return None if any(is_known_from(one, candidate) for one in near if proposed or not one.is_waiting) else near

    async def append_in_place(self, draft: Draft, place: Place | None) -> Receipt:
        """Append a note that replaces another note, or stands beside it if only a person may replace that note."""
        if place:
            try:
                return await append_for_source(self._core, draft, place)
            except (Refused, NotFound) as error:
                log.warning("a note was not replaced: %s", error.code)
        return await append_for_source(self._core, draft)

    def draft(
        self, candidate: Candidate, note_id: NoteId, captured: CapturedMessages, contrary: Sequence[Contrary] = (),
        replaced: Contrary | None = None, contested: Sequence[NoteId] = (), *, waits: bool,
    ) -> Draft:  # fmt: skip
        """Return the note of a candidate."""
        own, at = captured.project, candidate.at
        is_wide = is_personal(candidate.kind, candidate.statement, own) and not is_closed(own)
        more: dict[str, Value] = {
            "derived_from": [f"{captured.file}@{candidate.offset}"],
            "speaker": candidate.speaker,
            "score": candidate.score,
        }
        more |= {"voice": candidate.voice.value} if candidate.voice is not Voice.UNSURE else {}
        others = [str(stated.id) for stated, _ in contrary if replaced is None or stated is not replaced[0]]
        links = ("contradicts", others), (CONTESTS, contested if waits or (candidate.reverses and not replaced) else ())
        more |= {name: [*ids] for name, ids in links if ids}
        return Draft(
            content=candidate.text,
            kind=self._vault.kinds.get(candidate.kind),
            title=(replaced and title_now(*replaced)) or candidate.title or None,
            tags=captured.tags,
            project=None if is_wide else own,
            session=captured.session[:MAX_WORD] or None,
            source=captured.client[:MAX_WORD],
            created=at if at and at <= self._clock() + CLOCKS_DIFFER else None,
            due=candidate.due,
            expires_at=candidate.expires,
            once=True,
            folder=INBOX if waits else None,
            id=note_id,
            more=more,
        )

    async def has(self, note_id: NoteId, captured: CapturedMessages) -> bool:
        """Return whether a candidate was handled before."""
        stored = await in_thread(self._index.note_by_id, note_id, what="looking for the note")
        if stored and not self._log.find(note_id):  # a crash prevented the log entry, or another device stored the note
            outcomes = {NoteState.INBOX: CandidateOutcome.WAITING, NoteState.DELETED: CandidateOutcome.DROPPED}
            await self.record(note_id, outcomes.get(stored[0].state, CandidateOutcome.ACTIVE), captured)
        return self._log.find(note_id) is not None

    async def is_known(self, candidate: Candidate, captured: CapturedMessages) -> bool:
        """Return whether memory says the same, or you rejected the candidate. Proposals don't count."""
        rejected = await self._rejected()
        return await self._nearest_unless_known(candidate, captured, rejected, proposed=False) is None

    async def _rejected(self) -> Sequence[RejectedCandidate]:
        return await in_thread(
            rejected_candidates, self._log, self._index, self._vault, what="reading what was rejected"
        )

    def must_wait(self, candidate: Candidate) -> bool:
        """Return whether even a sure statement waits for review: you want to see all, or it is old."""
        return not self._config.auto_accept or is_past(candidate, (), self._clock())

    async def record(self, note_id: NoteId, outcome: CandidateOutcome, captured: CapturedMessages) -> None:
        await self._session_notes.record(note_id, captured.session, outcome)
