"""Prepare what an agent gets without asking, at the start of a session and with each prompt. A session gets each
passage once until its context is emptied. The same notes give the same text, so that a model's prompt cache works: the
text has no time of day, and mentions freshness only for stale notes. This module is over 300 lines because a session's
start, its prompts, its sub-agents and what is due share the parts of one class."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import anyio

from mcp_memory.errors import DeadlineExceeded
from mcp_memory.index.base import Index
from mcp_memory.indexing.freshness import Freshness
from mcp_memory.models import NO_PROJECT, Filters, NoteId, NotePath, NoteRecord, NoteState, Passage
from mcp_memory.recall.answer import RecallAnswerer, RecalledText
from mcp_memory.recall.briefing_log import BriefingLog
from mcp_memory.recall.config import PhaseConfig, RecallConfig
from mcp_memory.recall.context_budget import with_notice
from mcp_memory.recall.cutoff import PromptBars
from mcp_memory.recall.excerpts import Excerpt
from mcp_memory.recall.moments.left_off import where_left_off
from mcp_memory.recall.moments.off_record_sessions import OffRecordSessions
from mcp_memory.recall.moments.own_words import OwnWords
from mcp_memory.recall.moments.shown_notes import ShownNotes
from mcp_memory.recall.moments.withdrawals import Withdrawals
from mcp_memory.recall.moments.workspace_files import files_loaded_by
from mcp_memory.recall.prompt_preview import MOST_CONSIDERED, PromptPreview, unfiltered
from mcp_memory.recall.remarks.announcements import Announcer, announcement
from mcp_memory.recall.remarks.note_remarks import MOST_POINTERS, pointer_line, pointer_mark
from mcp_memory.recall.reminders import (
    AHEAD,
    TOLD,
    Reminder,
    Stage,
    asked_about,
    commitments,
    question_about_due,
    reminders,
)
from mcp_memory.recall.seen_passages import SeenPassages, mark_of
from mcp_memory.runtime.threads import Given, T, in_thread
from mcp_memory.search.embedder_lifecycle import RETURN_WAIT_S, EmbedderLifecycle
from mcp_memory.search.note_lookup import named_by
from mcp_memory.text.conversation.off_record import without_private
from mcp_memory.text.tokens import count_tokens
from mcp_memory.vault.config import COMMITMENT
from mcp_memory.vault.journals.change_journal import Caller, current_caller

PROMPT, SUBAGENT = "prompt", "subagent"
"""The phases of `[recall.phases]` that a prompt and the task of a sub-agent use."""

NOBODY = ""
"""The session of a preview, of which nothing is recorded."""

ANSWER_S = 0.15
"""The most time for a prompt's passages on a busy machine; any time beyond it is for loading the model."""

LOOK_S = 5.0


@dataclass(frozen=True)
class Briefing:
    """A text for an agent, which may be empty; `notes` are the ids of the notes that it quotes or names. `degraded`:
    why the search was limited, such as an unloaded model. `stored`: what the person should hear was stored without
    review."""

    text: str = ""
    notes: tuple[NoteId, ...] = ()
    degraded: str | None = None
    stored: str = ""

    @property
    def tokens(self) -> int:
        return count_tokens(self.text)


@dataclass(frozen=True)
class Briefer:
    """Brief the sessions; any text may name a session. A passage that misses the deadline isn't recorded as seen."""

    answerer: RecallAnswerer
    index: Index
    model: EmbedderLifecycle
    seen: SeenPassages
    config: RecallConfig
    filters: Callable[..., Filters]
    freshness: Freshness
    log: BriefingLog
    withdrawals: Withdrawals
    off_record: OffRecordSessions
    own_words: OwnWords
    shown_notes: ShownNotes
    announcers: list[Announcer] = field(default_factory=list[Announcer])

    async def start(
        self, session: str, project: str | None, *, deadline_s: float, left_off: bool = False,
        for_person: bool = False, folder: str = "",
    ) -> Briefing:  # fmt: skip
        """Return what every session should know: what is due, if wanted a line on the end of the project's last
        session, and the notes of `SessionStart`. The session's context is taken to be empty, so every passage may
        be shown again. `for_person`: name what was stored without review in `stored`, not in the text. `folder`: where
        the session works. Raises DeadlineExceeded."""
        self.model.preload()
        with _within(deadline_s):
            await _look("forgetting what was shown", self.seen.reset, session)
            loaded = await _look("looking at what the client reads", self._loaded, session, folder)
            wanted = self.filters(project=project)
            # the notes of projects don't belong outside them
            wanted = replace(wanted, project=wanted.project or NO_PROJECT)
            due = await self._reminders(session, wanted, TOLD)
            may_tell = replace(wanted, private=self.config.private_marks)
            among = self.answerer.vault, self.index, may_tell
            last = await _look("looking at the last session", where_left_off, *among, session) if left_off else ""
            news = [*filter(wanted.sees, await self._news(wanted.project))]
            told, stored = ("", announcement(news)) if for_person else (announcement(news), "")
            lines = list(filter(None, [last, told]))
            budget, usual = self.config.start_budget_tokens, self.config.start_usual_tokens
            taken = sum(count_tokens(line) + 1 for line in [*(one.line for one in due), *lines])
            uses = await _look("reading uses", self.log.uses.read, wanted.project)
            rooms = max(budget - taken, budget // 2), max(usual - taken, usual // 2)
            recalled = await self.answerer.start(wanted, rooms[0], uses, rooms[1], loaded=loaded)
            passages, notes = await _look("looking it up", self._quoted, recalled)
            room = recalled.frame.room(min(budget, max(usual, count_tokens(recalled.text) + min(taken, usual // 2))))
            recalled, of_due = await self._with_reminders(session, recalled, due, room)
            for line in lines:
                recalled = replace(recalled, assembly=with_notice(recalled.assembly, line, room))
            named = [note.id for note in news] if stored or told in recalled.assembly.notices else []
            shown = [*notes, *of_due, *([] if stored else named)]
            briefing = await self._briefing(session, wanted.project, recalled, passages, shown)
        # after the deadline, so that an answer that comes too late hasn't announced anything; an agent that asks
        # outside of its hooks doesn't tell its person
        if named and current_caller().is_person:
            for announcer in self.announcers:
                await _look("noting the news", announcer.mark_announced, named)
        return replace(briefing, stored=stored)

    async def _news(self, project: str | None) -> list[NoteRecord]:
        """Return what was stored without review and isn't contested."""
        contested = await _look("reading what is contested", self.answerer.current.conflicts.contested.remarks)
        found = list[NoteRecord]()
        for announcer in self.announcers:
            found += await _look("looking for news", announcer.announcements, project)
        return [note for note in found if note.id not in contested]

    async def orders(self, session: str, project: str | None, *, deadline_s: float) -> Briefing:
        """Return the notes that every sub-agent should know: the project's standing orders. Raises DeadlineExceeded."""
        self.model.preload()
        with _within(deadline_s):
            recalled = await self._orders(project)
            quoted, notes = await _look("looking it up", self._quoted, recalled)
            return await self._briefing(session, project, replace(recalled, passages=tuple(quoted)), (), notes)

    async def due(self, session: str, project: str | None, *, deadline_s: float) -> Briefing:
        """Return the commitments that are due or overdue and new to the session. Raises DeadlineExceeded."""
        with _within(deadline_s):
            budget = self.config.phases[SUBAGENT].budget_tokens
            due = await self._reminders(session, self.filters(project=project), TOLD)
            recalled = self.answerer.due(budget)
            room = recalled.frame.room(budget)
            recalled, notes = await self._with_reminders(session, recalled, due, room)
            return await self._briefing(session, project, recalled, (), notes)

    async def prompt(
        self, session: str, prompt: str, project: str | None, *, deadline_s: float, lasting: bool = True,
        subagent: bool = False, withdrawn: bool = True, ask_below: float = 0.0,
    ) -> Briefing:  # fmt: skip
        """Return the passages that fit the prompt and are new to the session; none if the prompt probably needs no
        memory. `lasting`: the text stays in the session's context, so it isn't shown again. `subagent`: the prompt is
        the task of a sub-agent, which has already got `orders`. `withdrawn`: include the notices of withdrawn notes.
        Raises DeadlineExceeded."""
        may_be_kept = await self._hear_task(session, prompt) if subagent else await self._hear(session, prompt)
        phase = self.config.phases[SUBAGENT if subagent else PROMPT]
        with _within(deadline_s):
            ordered = await self._orders(project) if subagent else None
            ordered_paths = {excerpt.path for excerpt in ordered.assembly.excerpts} if ordered else set[NotePath]()
            if ordered and ordered_paths:
                phase = replace(phase, budget_tokens=phase.budget_tokens - count_tokens(ordered.text))
            await self.model.wait_loaded(min(RETURN_WAIT_S, max(0.0, deadline_s - ANSWER_S)))
            is_known = await _look("reading what was shown", self._known_to, session, prompt)
            wanted = self._wanted(prompt, project, phase)
            recalled, of_due = await self._answer(
                session, prompt, wanted, phase,
                lambda passage: passage.note.path in ordered_paths or is_known(passage),
                self.own_words.answer_of(session), subagent=subagent, ask_below=ask_below,
            )  # fmt: skip
            if recalled.wanted and may_be_kept and not subagent:
                self.log.uses.unanswered.add(may_be_kept, wanted.project)
            shown = (*recalled.passages, *recalled.unsure)
            notes = dict.fromkeys([*(passage.shown_id for passage in shown), *of_due])
            lasts, pointed = (recalled.passages, recalled.unsure) if lasting else ((), ())
            briefing = await self._briefing(
                session, wanted.project, recalled, lasts, notes, may_be_kept, "prompt", pointed
            )
            if not withdrawn or subagent:
                return briefing
            gone = await _look("comparing what was told", self.withdrawals.describe, session)
            texts = self.off_record.tell_missing(session), gone, briefing.text
            return replace(briefing, text="\n".join(filter(None, texts)))

    async def preview(self, prompt: str, project: str | None, answer: str, *, deadline_s: float) -> PromptPreview:
        """Return what a session that has seen nothing would get with this prompt after this `answer` of its agent, and
        what not. Records nothing. Raises DeadlineExceeded."""
        phase = self.config.phases[PROMPT]
        with _within(deadline_s):
            await self.model.wait_loaded(min(RETURN_WAIT_S, max(0.0, deadline_s - ANSWER_S)))
            contested = await _look("reading what is contested", self.answerer.current.conflicts.contested.remarks)
            wanted = self._wanted(prompt, project, phase)
            recalled, _ = await self._answer(
                NOBODY, prompt, wanted, phase, lambda passage: passage.shown_id in contested, answer
            )
            ranked = await self.answerer.rank_for_prompt(prompt, replace(wanted, foreign=False), MOST_CONSIDERED)
            wide = await self.answerer.rank_for_prompt(prompt, unfiltered(wanted), MOST_CONSIDERED)
        return PromptPreview.of(recalled, PromptBars(phase, wanted.project), ranked, wide, wanted, contested)

    def _wanted(self, prompt: str, project: str | None, phase: PhaseConfig) -> Filters:
        """Return the filters of what a session may get with a prompt."""
        wanted = self.filters(kinds=[*phase.kinds], project=project, question=prompt)
        return replace(wanted, private=self.config.private_marks)

    async def _answer(
        self, session: str, prompt: str, wanted: Filters, phase: PhaseConfig, known: Callable[[Passage], bool],
        answer: str, *, subagent: bool = False, ask_below: float = 0.0,
    ) -> tuple[RecalledText, list[NoteId]]:  # fmt: skip
        """Return the text for a prompt, and the notes in its lines about what is due."""
        stale = self.freshness.describe_lag()
        asked = None if subagent else question_about_due(prompt)
        own = self.filters(project=wanted.project)
        due = [] if subagent else await self._reminders(session, own, AHEAD, asked)
        recalled = await self.answerer.question(
            prompt,
            replace(wanted, kinds_out=frozenset({COMMITMENT})) if asked else wanted,
            phase.budget_tokens,
            phase,
            [stale] if stale else [],
            known,
            answer,
            ask_below,
        )
        recalled = await self._with_pointers(session, recalled, phase.budget_tokens, to_ask=ask_below > 0)
        room = recalled.frame.room(phase.budget_tokens)
        if self.config.topic_pages and not subagent and (page := await self.answerer.topic(prompt, wanted)):
            line = page.call or f"Overview: {page.recall}"
            recalled = replace(recalled, assembly=with_notice(recalled.assembly, line, room, leads=True))
        return await self._with_reminders(session, recalled, due, room)

    async def _hear(self, session: str, prompt: str) -> str:
        """Return what may be kept of a prompt, and drop what the prompt takes back. This has its own deadline: on a
        busy machine, passages may be late, but a request to keep nothing must be heard. Raises DeadlineExceeded,
        StorageFailed."""
        heard = await _look("hearing the prompt", self.off_record.hear, session, prompt, self.answerer.clock())
        is_off_record, taken_back = heard
        if taken_back:
            await _look("dropping what was taken back", self.log.take_back, session, taken_back)
        return "" if is_off_record else prompt

    async def _hear_task(self, session: str, task: str) -> str:
        """Return what may be kept of a sub-agent's task. An agent wrote it, so it neither makes nor ends an
        off-the-record request, but it may repeat a prompt that is off the record."""
        caller, now = Caller(session.partition("/")[0]), self.answerer.clock()
        is_silenced = await _look("asking what is off the record", self.off_record.silences, caller, now)
        return "" if is_silenced else without_private(task)

    async def reset(self, session: str, *, ended: bool = False) -> None:
        """Forget what the session has seen and said: its context is empty, or it `ended`."""
        await _look("forgetting what was shown", self.seen.reset, session)
        await _look("forgetting what was said", partial(self.own_words.forget, session, ended=ended))

    def _loaded(self, session: str, folder: str) -> Set[NotePath]:
        """Return the files that the session's client reads by itself, and note that the session knows them."""
        client = session.partition("/")[0]
        loaded = files_loaded_by(client, folder, self.answerer.vault)
        self.seen.add(session, [mark_of(passage) for path in loaded for passage in self.index.passages(path)])
        return loaded

    def _known_to(self, session: str, prompt: str) -> Callable[[Passage], bool]:
        """Read what the session has seen and said, and return the test for a passage. A contested passage isn't
        shown, either."""
        is_own = self.own_words.known_to(session, prompt)
        seen, contested = self.seen.seen_by(session), self.answerer.current.conflicts.contested.remarks()
        return lambda passage: mark_of(passage) in seen or is_own(passage) or passage.shown_id in contested

    async def titles(self, ids: Sequence[str]) -> Mapping[str, NoteRecord]:
        """Return the notes with the ids of briefings, without forgotten notes and candidates."""
        return await _look("looking it up", lambda: {name: note for name in ids if (note := self._note(name))})

    async def _reminders(
        self, session: str, wanted: Filters, stages: frozenset[Stage], asked: str | None = None
    ) -> list[Reminder]:
        """Return the reminders of commitments that are new to the session; for a question about what is due, all that
        it may mean."""
        now, zone = self.answerer.clock(), self.answerer.vault.layout.tz
        wanted = replace(wanted, project=wanted.project or NO_PROJECT, private=self.config.private_marks)

        def look() -> list[Reminder]:
            found = commitments(self.index, wanted, now, zone, self.answerer.current.conflicts.contested.remark_on)
            if asked:
                return asked_about(found, asked)
            return reminders(found, stages, session, self.seen.seen_by(session))

        return await _look("looking for commitments", look)

    async def _with_reminders(
        self, session: str, recalled: RecalledText, due: Sequence[Reminder], room_chars: int
    ) -> tuple[RecalledText, list[NoteId]]:
        """Add as many lines as fit, and the notes that they name. The lines are recorded as seen."""
        heard: list[Reminder] = []
        for one in due:
            longer = with_notice(recalled.assembly, one.line, room_chars)
            if longer is not recalled.assembly:
                recalled = replace(recalled, assembly=longer)
                heard.append(one)
        marks = [mark for one in heard for mark in one.marks if mark]
        if marks and session != NOBODY:
            await _look("noting what was shown", self.seen.add, session, marks)
        return recalled, [note for one in heard for note in one.notes]

    async def _with_pointers(
        self, session: str, recalled: RecalledText, budget_tokens: int, *, to_ask: bool
    ) -> RecalledText:
        """Add a line that points to the unsure passages, without those that the session was pointed to before; as
        `unsure` keep only those that the line names."""
        if not recalled.unsure:
            return recalled
        seen = await _look("reading what was shown", self.seen.seen_by, session)
        new = tuple(passage for passage in recalled.unsure if pointer_mark(passage) not in seen)[:MOST_POINTERS]
        room = recalled.frame.room(budget_tokens)
        assembly = with_notice(recalled.assembly, pointer_line(new, to_ask=to_ask), room) if new else recalled.assembly
        return replace(recalled, assembly=assembly, unsure=new if assembly is not recalled.assembly else ())

    async def _orders(self, project: str | None) -> RecalledText:
        budget = self.config.phases[SUBAGENT].budget_tokens
        return await self.answerer.orders(self.filters(project=project), budget // 2)

    async def _briefing(
        self, session: str, project: str | None, recalled: RecalledText, passages: Iterable[Passage],
        notes: Iterable[NoteId], prompt: str | None = None, event: str = "session-start",
        pointed: Iterable[Passage] = (),
    ) -> Briefing:  # fmt: skip
        """Record the briefing; `passages`, and pointers to those `pointed` to, stay in the session's context."""
        text = recalled.assembly
        if not (text.lead or text.excerpts or text.notices):
            return Briefing(degraded=recalled.degraded)
        marks = [*map(mark_of, passages), *map(pointer_mark, pointed)]
        notes, given = tuple(notes), [*((*recalled.passages, *recalled.unsure) or passages)]

        def record() -> None:
            known = {one.shown_id for one in given}
            lines = filter(None, (self._note(name) for name in notes if name not in known))
            given.extend(passage for note in lines for passage in self.index.passages(note.path)[:1])
            self.seen.add(session, marks)
            self.withdrawals.add(session, passages)
            shown = [*recalled.unsure, *(recalled.passages or passages)]
            self.shown_notes.add(session, project, prompt, recalled.text, shown)
            self.log.add(
                self.answerer.clock(), session, project, given, recalled.chunks, recalled.confidence, prompt, event,
                count_tokens(recalled.text),
            )  # fmt: skip

        await _look("noting what was shown", record)
        recalled = replace(recalled, frame=replace(recalled.frame, as_of=None))
        return Briefing(recalled.text, notes, recalled.degraded)

    def _quoted(self, recalled: RecalledText) -> tuple[list[Passage], list[NoteId]]:
        """Return the passages that the excerpts contain or state in a line, and the notes of the excerpts."""
        quoted: dict[NotePath, list[Excerpt]] = {}
        for excerpt in recalled.assembly.excerpts:
            quoted.setdefault(excerpt.path, []).append(excerpt)
        passages = [
            passage
            for path, excerpts in quoted.items()
            for passage in self.index.passages(path)
            if any(excerpt.tells(passage) for excerpt in excerpts)
        ]
        return passages, [note.id for path in quoted if (note := self.index.note(path))]

    def _note(self, note_id: str) -> NoteRecord | None:
        named = named_by(note_id)
        if isinstance(named, tuple):
            found = [note] if (note := self.index.note(named[0])) else []
        else:
            found = self.index.note_by_id(named)
        return next((note for note in found if note.state not in {NoteState.DELETED, NoteState.INBOX}), None)


async def _look(what: str, work: Callable[[*Given], T], *given: *Given) -> T:
    return await in_thread(work, *given, what=what, deadline_s=LOOK_S)


@contextmanager
def _within(deadline_s: float) -> Generator[None]:
    try:
        with anyio.fail_after(deadline_s):
            yield
    except TimeoutError as error:
        raise DeadlineExceeded(f"a briefing took longer than {deadline_s:g} s", hint="see mcp-memory status") from error
