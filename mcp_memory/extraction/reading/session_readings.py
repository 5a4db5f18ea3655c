"""Lets a language model read finished sessions, if you chose one, and stores what they support."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.finished_sessions import FinishedSessions
from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.service import STEP_S
from mcp_memory.capture.session_reader import CapturedMessages, read_session
from mcp_memory.core.core import Core
from mcp_memory.errors import McpMemoryError, SummarizerUnavailable
from mcp_memory.extraction.reading.reading_answer import SessionReading, check_answer
from mcp_memory.extraction.reading.reading_prompt import ReadingPrompt, ShownNote, build_prompts
from mcp_memory.extraction.reading.statement_store import StatementStore
from mcp_memory.extraction.session_notes import SessionNotes
from mcp_memory.jobs.due import Every
from mcp_memory.jobs.job import JobReport, JobTurn
from mcp_memory.models import Filters, NoteState, is_channel
from mcp_memory.runtime.threads import in_thread
from mcp_memory.summarizers.base import Summarizer
from mcp_memory.text.pluralize import counted

MOST_SESSIONS = 20
"""The most sessions of a single run; the rest follow in the next run."""
MOST_NOTES, NEAR_EACH = 40, 6
"""The most notes shown with a session, and the most that are near one message of the person."""
BEFORE = 4
"""The messages shown again of a session that went on after it was read."""
LOOK_S = 300.0

log = logging.getLogger(__name__)


class SessionReadings:
    """Reads sessions, one at a time. `state` records how far each session was read."""

    def __init__(self, core: Core, store: StatementStore, notes: SessionNotes, model: Summarizer, state: Path) -> None:
        self._core = core
        self._store = store
        self._session_notes = notes
        self._model = model
        self._capture = core.background.capture.service
        self._finished = FinishedSessions(self._capture, state, core.clock, lambda checkpoint: checkpoint.offset)
        self.due = Every(LOOK_S)
        if self._finished.is_new:  # nobody expects the costs of all sessions so far
            self._finished.skip_all()

    def note_end(self, file: str) -> None:
        """Note that the session of a transcript has ended, and read it soon."""
        self._finished.ended.add(file)
        self.due.is_wanted = True
        self._core.background.scheduler.note_changes(())

    async def run(self, turn: JobTurn) -> JobReport | None:
        """Read the sessions that are due. Raises SummarizerUnavailable: the session is read later."""
        due = await in_thread(self._finished.due, deadline_s=STEP_S, what="looking at sessions")
        done = Counter[str]()
        for checkpoint in due[:MOST_SESSIONS]:
            if self._model.asked_in_s():
                break  # today's limit is reached, or the model has just failed
            await turn.lull(lambda: False)
            try:
                done += await self._read(checkpoint)
            except SummarizerUnavailable:
                raise
            except McpMemoryError as error:  # a transcript that can't be read now isn't read
                log.warning("a session was not read: %s", error.code)
        if not done:
            return None
        about = f"{counted(done['read'], 'session')} read, {counted(done['stored'], 'note')} stored"
        return JobReport(about, figures=dict(done))

    async def _read(self, checkpoint: Checkpoint) -> Counter[str]:
        place = self._capture.paths.locate(checkpoint.client, checkpoint.name)
        while not (await self._capture.capture_next(place)).at_end:
            pass
        checkpoint = await in_thread(
            self._capture.checkpoints.read, place.client, place.name, deadline_s=STEP_S, what="looking"
        )
        read = partial(
            read_session, self._capture.paths, place, self._core.vault.layout.tz, self._capture.project_of,
            until=checkpoint.offset, withdrawn=checkpoint.withdrawn,
        )  # fmt: skip
        captured = await in_thread(read, deadline_s=STEP_S, what="reading a transcript")
        new = _unread(captured.messages, self._finished.handled(checkpoint), checkpoint.offset)
        done = Counter[str]()
        if any(message.role is Role.USER for message in new) and not is_channel(captured.project):
            done = await self._ask_about(replace(captured, messages=new))
        mark = partial(self._finished.mark_handled, checkpoint)
        await in_thread(mark, deadline_s=STEP_S, what="saving how far it is")
        return done

    async def _ask_about(self, captured: CapturedMessages) -> Counter[str]:
        notes = await self._notes(captured)
        done = Counter(read=1)
        for asked in build_prompts(captured.messages, notes, self._about(captured), self._prompt_tokens):
            reading = await self._ask(asked)
            await self._session_notes.drop_proposals(captured.session)
            await self._session_notes.drop_read([note.id for note in reading.wrong], captured.session)
            found = await self._store.store(reading.statements, captured)
            done += Counter(stored=len(found.active), waiting=len(found.waiting), unsupported=reading.unsupported)
        return done

    async def _ask(self, asked: ReadingPrompt) -> SessionReading:
        deadline_s = self._core.config.summarizer.timeout_s + 1
        reply = await in_thread(self._model.ask, asked.prompt, deadline_s=deadline_s, what="asking a language model")
        return check_answer(reply.text, asked)

    @property
    def _prompt_tokens(self) -> int:
        return self._core.config.summarizer.prompt_tokens

    def _about(self, captured: CapturedMessages) -> str:
        zone = self._core.vault.layout.tz
        days = sorted(message.turn.at.astimezone(zone).date() for message in captured.messages if message.turn.at)
        shown = [f"{day:%A %Y-%m-%d}" for day in dict.fromkeys((*days[:1], *days[-1:]))]
        return f"{' to '.join(shown)}, {captured.project or 'no project'}"

    async def _notes(self, captured: CapturedMessages) -> list[ShownNote]:
        """Return the notes made from the session, then the notes near to what the person said, the nearest first.
        Private notes are shown to nobody."""
        made = {note.id: note for note in await self._session_notes.extracted(captured.session)}
        admits = Filters(
            project=captured.project, now=self._core.clock(), private=self._core.config.recall.private_marks
        ).admits
        nearness: dict[str, float] = {}
        found: dict[str, ShownNote] = {}
        for message in captured.messages:
            if message.role is not Role.USER:
                continue
            near = await self._core.search.near_notes.nearest(message.turn.text, project=captured.project)
            for one in sorted(near, key=lambda near: -near.cosine)[:NEAR_EACH]:
                note = one.passage.note
                if note.state is NoteState.ACTIVE and admits(note) and note.id not in made:
                    note_id = one.passage.shown_id
                    nearness[note_id] = max(nearness.get(note_id, 0.0), one.cosine)
                    day = note.date.date().isoformat() if note.date else ""
                    found[note_id] = ShownNote(note_id, day, note.kind, note.project, one.passage.chunk.text)
        nearest = sorted(found.values(), key=lambda note: -nearness[note.id])[:MOST_NOTES]
        day = self._core.clock().date().isoformat()
        own = [ShownNote(note.id, day, "waits" if note.state is NoteState.INBOX else "stored", None, note.text, True)
               for note in made.values()]  # fmt: skip
        return [*own, *nearest]


def _unread(messages: Sequence[TranscriptMessage], handled: int, size: int) -> list[TranscriptMessage]:
    """Return the messages that weren't read yet, and a few before them. A file that was replaced by a shorter file is
    read again."""
    begin = handled if handled <= size else 0
    first = next((at for at, message in enumerate(messages) if message.offset >= begin), len(messages))
    if first == len(messages):
        return []
    return list(messages[max(0, first - BEFORE) :])
