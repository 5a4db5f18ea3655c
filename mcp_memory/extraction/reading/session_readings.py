"""Lets a language model read finished sessions, if you chose one, and stores what they support."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.finished_sessions import FinishedSessions
from mcp_memory.capture.readers.message import Transcript, TranscriptMessage
from mcp_memory.capture.service import STEP_S
from mcp_memory.capture.session_reader import CapturedMessages, read_session
from mcp_memory.core.core import Core
from mcp_memory.errors import McpMemoryError
from mcp_memory.extraction.candidate_log import CandidateOutcome
from mcp_memory.extraction.reading.reading_answer import check_answer
from mcp_memory.extraction.reading.reading_prompt import WAITS, ReadingPrompt, ShownNote, build_prompt
from mcp_memory.extraction.reading.statement_store import StatementStore
from mcp_memory.extraction.session_notes import SessionNotes, has_words_of
from mcp_memory.jobs.job import Every, JobReport, JobTurn
from mcp_memory.models import NO_PROJECT, Filters, NoteRecord, NoteState, Passage, is_channel
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import NearPassage
from mcp_memory.summarizers.base import Summarizer
from mcp_memory.text.language.subjects import subject_of
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.succession.entry_marks import admits, note_of

MOST_SESSIONS = 20
"""The most sessions of a single run; the rest follow in the next run."""
MOST_NOTES, NEAR_EACH, MOST_LISTED = 60, 6, 10
"""The most older notes shown with a session, the most that are near one message of the person, and the most commitments
and proposals each."""
BEFORE = 4
"""The messages shown again of a session that went on after it was read."""
LOOK_S = 300.0
RESTART = 1 << 48
"""More bytes than a transcript has: the version of a transcript counts how often the file was replaced, too."""

log = logging.getLogger(__name__)


class SessionReadings:
    """Reads sessions, one at a time. `state` records how far each session was read."""

    def __init__(self, core: Core, store: StatementStore, notes: SessionNotes, model: Summarizer, state: Path) -> None:
        self._core = core
        self._store = store
        self._session_notes = notes
        self._model = model
        self._capture = core.background.capture.service
        self._finished = FinishedSessions(
            self._capture, state, core.clock, lambda checkpoint: checkpoint.restarts * RESTART + checkpoint.offset
        )
        self.due = Every(LOOK_S)
        if self._finished.is_new():  # nobody expects the costs of all sessions so far
            self._finished.skip_all()

    def note_end(self, file: str) -> None:
        """Note that the session of a transcript has ended, and read it soon."""
        self._finished.ended.add(file)
        self.due.is_wanted = True
        self._core.background.scheduler.note_changes(())

    async def run(self, turn: JobTurn) -> JobReport | None:
        """Read the sessions that are due. Raises SummarizerUnavailable and the errors of an append: what wasn't read is
        read later."""
        due = await in_thread(self._finished.due, what="looking at sessions")
        done = Counter[str]()
        for checkpoint in due[:MOST_SESSIONS]:
            if self._model.asked_in_s():
                break  # today's limit is reached, or the model has just failed
            await turn.lull(lambda: False)
            try:
                current, captured = await self._transcript(checkpoint)
            except McpMemoryError as error:  # the transcript is gone
                log.warning("a session was not read: %s", error.code)
                current = checkpoint
            else:
                done += await self._read(current, captured, turn)
            await in_thread(self._finished.mark_handled, current, what="saving how far it is")
        if not done:
            return None
        about = f"{counted(done['read'], 'session')} read, {counted(done['stored'], 'note')} stored"
        about += f", {done['unsupported']} refused: not said, or too many for review" if done["unsupported"] else ""
        return JobReport(about, figures=dict(done))

    async def _transcript(self, checkpoint: Checkpoint) -> tuple[Checkpoint, CapturedMessages]:
        """Capture what is left of a session, and return all of it. Raises NotFound, Refused and StorageFailed."""
        place = self._capture.paths.locate(checkpoint.client, checkpoint.name)
        while not (await self._capture.capture_next(place)).at_end:
            pass

        def read() -> tuple[Checkpoint, CapturedMessages]:
            current = self._capture.checkpoints.read(place.client, place.name)
            zone, project_of = self._core.vault.layout.tz, self._capture.project_of
            captured = read_session(
                self._capture.paths, place, zone, project_of, until=current.offset, withdrawn=current.withdrawn
            )
            return current, captured

        return await in_thread(read, what="reading a transcript")

    async def _read(self, checkpoint: Checkpoint, captured: CapturedMessages, turn: JobTurn) -> Counter[str]:
        """Read what is new in a session, part by part. A part that was stored isn't read again, and its notes are shown
        with the next one."""
        fresh_from = max(0, self._finished.handled(checkpoint) - checkpoint.restarts * RESTART)
        done, refused = Counter[str](), list[str]()
        while asked := await self._next_part(captured, fresh_from):
            reply = await self._core.background.reader.ask(asked.prompt, turn)
            reading = None if reply.cut else await in_thread(check_answer, reply.text, asked, what="reading an answer")
            done["read"] = 1
            if reading is None:
                log.warning("a language model answered in another form")
                done["unusable"] += 1
            else:
                made = await self._store.store(reading.statements, captured)
                lost = [*reading.refused, *made[CandidateOutcome.CROWDED_OUT]]
                refused += lost
                held = [note.id for note in reading.wrong if has_words_of(note.text, refused)]
                await self._session_notes.hold(held, captured.session)
                wrong = [note.id for note in reading.wrong if note.id not in held]
                await self._session_notes.drop_read(wrong, captured.session)
                done["stored"] += len(made[CandidateOutcome.ACTIVE])
                done["waiting"] += len(made[CandidateOutcome.WAITING])
                done["unsupported"] += len(lost)
            fresh_from = asked.messages[-1].offset + 1
            fresh = replace(checkpoint, offset=fresh_from)
            await in_thread(self._finished.mark_up_to, fresh, what="saving how far it is")
        if done["read"] and not done["unusable"]:
            await self._session_notes.drop_proposals(captured.session, refused)
        return done

    async def _next_part(self, captured: CapturedMessages, fresh_from: int) -> ReadingPrompt | None:
        """Return the prompt for the next part that has new words of the person."""
        messages = _unread(captured.messages, fresh_from)
        if not messages or is_channel(captured.project):
            return None
        captured = replace(captured, messages=messages)
        notes, zone = await self._notes(captured), self._core.vault.layout.tz
        days = sorted(message.at.astimezone(zone).date() for message in messages if message.at)
        shown = [f"{day:%A %Y-%m-%d}" for day in dict.fromkeys((*days[:1], *days[-1:]))]
        about = f"{' to '.join(shown)}, {captured.project or 'no project'}"
        book = await in_thread(self._core.projects.book, what="reading the list of projects")
        projects = [project.label for project in book.projects if project.label != captured.project]
        return build_prompt(messages, notes, about, self._core.config.summarizer.prompt_tokens, fresh_from, projects)

    async def _notes(self, captured: CapturedMessages) -> list[ShownNote]:
        """Return the notes made from the session, then the notes near to what the person said, the nearest first; no
        private notes, and none that is newer than the session."""
        last = max((message.at for message in captured.messages if message.at), default=self._core.clock())
        project = captured.project or NO_PROJECT
        wanted = Filters(project=project, now=self._core.clock(), private=self._core.config.recall.private_marks)
        kept = replace(wanted, states=frozenset({NoteState.ACTIVE, NoteState.INBOX}), project=None)
        extracted = await self._session_notes.extracted(captured.session)
        made = {note.id for note in extracted}
        near = list[NearPassage]()
        for message in captured.messages:
            if message.is_persons:
                found = await self._core.search.near_notes.nearest(message.text, project=project)
                told = [
                    one for one in found if one.passage.note.state is NoteState.ACTIVE and admits(wanted, one.passage)
                ]
                near += sorted(told, key=lambda one: -one.cosine)[:NEAR_EACH]

        def look() -> list[ShownNote]:
            day, states = f"{last:%Y-%m-%d}", {NoteState.INBOX: WAITS}
            own = [
                ShownNote(note.id, day, states.get(note.state, "stored"), None, note.text, is_made_here=True)
                for note in extracted
                if any(map(kept.admits, self._core.index.note_by_id(note.id)))
            ]
            nearest = {one.passage.shown_id: one.passage for one in sorted(near, key=lambda one: -one.cosine)}
            known = (one for one in (*self._listed(wanted), *nearest.values()) if one.note.id not in made)
            told = {one.shown_id: one for one in known if (note_of(one).date or last) <= last}
            return [*own, *map(self._whole, list(told.values())[:MOST_NOTES])]

        return await in_thread(look, deadline_s=STEP_S, what="looking at notes")

    def _whole(self, passage: Passage) -> ShownNote:
        """Return the note of a passage with its statement, which only the first passage has."""
        first = [passage] if passage.note.is_log else self._first(passage.note)
        note, text = note_of(passage), (first or [passage])[0].chunk.text
        kind = WAITS if note.state is NoteState.INBOX else note.kind
        names = note.meta.get("contradicts", ()) if kind == WAITS else ()
        contrary = (other for name in names for other in self._core.index.note_by_id(name) if len(names) == 1)
        active = (one for other in contrary if other.state is NoteState.ACTIVE for one in self._first(other))
        older = next(map(self._whole, active), None)
        subject = subject_of(note.tags, note.project or "")
        return ShownNote(passage.shown_id, note.day or "", kind, note.project, text, instead_of=older, subject=subject)

    def _first(self, note: NoteRecord) -> Sequence[Passage]:
        return self._core.index.passages(note.path)[:1]

    def _listed(self, wanted: Filters) -> list[Passage]:
        """Return the open commitments and the proposals, which a session needn't name to change them."""
        kinds = replace(wanted, due=True), replace(wanted, states=frozenset({NoteState.INBOX}))
        return [
            one for kind in kinds for note in self._core.index.notes(kind, MOST_LISTED) for one in self._first(note)
        ]


def _unread(messages: Transcript, fresh_from: int) -> list[TranscriptMessage]:
    """Return the messages that weren't read yet, and a few before them; none without new words of the person."""
    fresh = [at for at, message in enumerate(messages) if message.offset >= fresh_from]
    if not any(messages[at].is_persons for at in fresh):
        return []
    return list(messages[max(0, fresh[0] - BEFORE) :])
