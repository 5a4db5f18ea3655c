"""Limits what extraction leaves of a session: a few proposals, and no copy of what the agent stored itself."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.core.core import Core
from mcp_memory.core.verbs.forgetting import forget_note
from mcp_memory.errors import McpMemoryError, NotFound, Refused
from mcp_memory.extraction.candidate_log import STORED_UNREVIEWED, CandidateLog, CandidateOutcome
from mcp_memory.models import NoteId, NotePath, NoteState
from mcp_memory.runtime.threads import in_thread
from mcp_memory.statements.candidate import Candidate
from mcp_memory.statements.extractor import appended_texts
from mcp_memory.text.language.denials import denies
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.parsed_values import text_at
from mcp_memory.vault.withheld_pages import sources_of

SURE = 0.85
"""The least score to be stored without review. A request to remember has .95, an outright statement .9, and a fix that
you confirm .8. A leaning, a promise or a fix that worked has .5, and a mention .45."""
REMEMBERED = 0.95
MOST_PROPOSALS = 5
"""The most proposals of a session that wait for review, besides what you state outright."""
LOOK_S = 10.0
READ = "a language model read the session"


@dataclass(frozen=True, slots=True)
class ExtractedNote:
    """A note that was made of a session's statement, in its current state."""

    id: NoteId
    path: NotePath
    state: NoteState
    text: str
    score: float
    offset: int
    """The place of the message in the transcript."""
    is_edited: bool
    by: str
    """The language model that read the session and worded the note; empty for rules."""


class SessionNotes:
    """Finds and drops the notes that extraction made of a session. They aren't made again from the same words."""

    def __init__(self, core: Core, log: CandidateLog) -> None:
        self._core = core
        self._log = log

    async def has_room(self, candidate: Candidate, session: str) -> bool:
        """Return whether a proposal may wait: the session has room for it, or a weaker proposal."""
        waiting = await self._proposals(session)
        return len(waiting) < MOST_PROPOSALS or waiting[0].score < candidate.score

    async def drop_weakest(self, session: str) -> None:
        """Drop the session's weakest proposals beyond the most that wait."""
        waiting = await self._proposals(session)
        for note in waiting[: max(0, len(waiting) - MOST_PROPOSALS)]:
            await self._drop(note, session, "better proposals wait", CandidateOutcome.CROWDED_OUT)

    async def _proposals(self, session: str) -> list[ExtractedNote]:
        extracted = await self.extracted(session)
        waiting = [one for one in extracted if one.state is NoteState.INBOX and one.score < SURE]
        return sorted(waiting, key=lambda one: one.score)

    async def drop_copies(self, captured: CapturedMessages, before: Sequence[TranscriptMessage]) -> None:
        """Drop what was extracted from the messages before, if the agent has stored the same since."""
        offsets = {message.offset for message in before}
        if appended_texts(captured.messages):
            for note in await self.extracted(captured.session):
                if note.offset in offsets and not note.is_edited and await self._is_stored_twice(note, captured):
                    await self._drop(note, captured.session, "the agent stored it itself", CandidateOutcome.COPIED)

    async def _is_stored_twice(self, note: ExtractedNote, captured: CapturedMessages) -> bool:
        """Return whether another note says the same; a log entry isn't enough. A note that forbids something
        always stays."""
        if denies(note.text):
            return False
        near = await self._core.search.near_notes.nearest(note.text, project=captured.project)
        return any(
            one.compare(note.text).says_the_same and denies(one.passage.chunk.text) == denies(note.text)
            for one in near
            if one.passage.note.id != note.id and not one.is_waiting and not one.passage.note.is_log
        )

    async def drop_proposals(self, session: str) -> None:
        """Drop the proposals that rules made of a session, since a language model has read it."""
        for note in await self._proposals(session):
            if not note.by:
                await self._drop(note, session, READ, CandidateOutcome.CROWDED_OUT)

    async def drop_read(self, note_ids: Collection[str], session: str) -> None:
        """Drop notes of a session that nobody has edited and that a language model calls wrong or words better."""
        for note in await self.extracted(session):
            if note.id in note_ids and not note.is_edited:
                await self._drop(note, session, READ, CandidateOutcome.CROWDED_OUT)

    async def drop_wrong(self, note_ids: Collection[str], session: str) -> None:
        """Drop notes of a session that a language model calls wrong, except what you asked to remember."""
        remembered = {note.id for note in await self.extracted(session) if note.score >= REMEMBERED}
        await self.drop_read([note_id for note_id in note_ids if note_id not in remembered], session)

    async def drop_proposal(self, note_id: NoteId | None, session: str) -> None:
        """Drop a proposal that you have corrected, if it still waits."""
        for note in await self.extracted(session) if note_id else ():
            if note.id == note_id and note.state is NoteState.INBOX:
                await self._drop(note, session, "corrected in the session")

    async def extracted(self, session: str) -> Sequence[ExtractedNote]:
        """Return the notes made of a session that are stored or wait."""
        return await in_thread(self._read_all, session, deadline_s=LOOK_S, what="reading a session's notes")

    def _read_all(self, session: str) -> list[ExtractedNote]:
        found: list[ExtractedNote] = []
        known = self._log.with_outcomes({CandidateOutcome.WAITING, *STORED_UNREVIEWED})
        for entry in known:
            for note in self._core.index.note_by_id(entry.id) if entry.session == session else ():
                if note.state in {NoteState.INBOX, NoteState.ACTIVE}:
                    with suppress(McpMemoryError):  # the note was just moved or removed
                        file = self._core.vault.read(note.path)
                        meta = frontmatter.parse(file.text).meta
                        score = meta.get("score")
                        number = float(score) if isinstance(score, int | float) else 0.0
                        statement = file.body.partition("\n\n> ")[0].strip()
                        at = next((place.rpartition("@")[2] for place in sources_of(file.text)), "")
                        offset = int(at) if at.isdigit() else -1
                        is_ours = self._core.vault.ledger.written(note.content_hash, note.kind, note.project)
                        is_edited = file.record.updated is not None or not is_ours
                        found.append(
                            ExtractedNote(
                                note.id,
                                note.path,
                                note.state,
                                statement,
                                number,
                                offset,
                                is_edited,
                                text_at(meta, "by"),
                            )
                        )
        return found

    async def _drop(
        self, note: ExtractedNote, session: str, reason: str, outcome: CandidateOutcome = CandidateOutcome.DROPPED
    ) -> None:
        with suppress(Refused, NotFound):
            await forget_note(self._core, note.path, None, reason=reason)
            record = partial(self._log.record, note.id, outcome, session, self._core.clock().timestamp())
            await in_thread(record, deadline_s=LOOK_S, what="recording it")
