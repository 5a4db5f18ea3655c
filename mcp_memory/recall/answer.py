"""Answer a recall within a token budget: a session's start, whole notes, or the passages that fit a question. The
module is over 300 lines because its three ways share the parts of one class."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import compress

from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import Clock, Filters, NoteId, NotePath, Passage
from mcp_memory.recall.config import PhaseConfig, RecallConfig
from mcp_memory.recall.context_budget import CUT, NOTE, BudgetedText, TextFrame, fit, fit_kinds, render, with_notice
from mcp_memory.recall.current_values import CurrentValues
from mcp_memory.recall.cutoff import PromptBars, for_question, likely_and_unsure, told_once, with_foreign
from mcp_memory.recall.excerpts import excerpt_of
from mcp_memory.recall.moments.follow_ups import with_answer
from mcp_memory.recall.moments.shown_notes import odds_of
from mcp_memory.recall.note_reader import NoteReader
from mcp_memory.recall.remarks.note_remarks import remarks_on
from mcp_memory.recall.reminders import commitments, due_line
from mcp_memory.recall.session_start import NO_BUDGETS, NewestNotes, SessionStart, memory_over_budget
from mcp_memory.recall.topic_page import SubjectPages, TopicPage, TopicPages, choose_with_page
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import asks_for_commitments
from mcp_memory.search.ranking import RankedChunk, RankedList
from mcp_memory.search.reasons import ASKS_WHY, with_reasons
from mcp_memory.search.searcher import Searcher
from mcp_memory.search.thresholds import LIKELY
from mcp_memory.text.language.terms import topic_asked_about
from mcp_memory.text.tokens import CHARS_PER_TOKEN
from mcp_memory.usage.note_use import NoteUse, with_odds
from mcp_memory.usage.use_counter import UseCounter
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import is_made, withheld_among

MOST_PASSAGES = 100
LEAST_PASSAGES = 10
PASSAGE_CHARS = 80
"""The passage length that sets how many passages are ranked, so that they fill the budget. Ranking 100 passages takes
half of a recall. Measured: 100 characters lose no evidence on dialogues and documentation, 150 lose .2 points."""

START_TITLE = "memory at session start"
ORDERS_TITLE = "memory for sub-agents"
DUE_TITLE, COMMITMENTS_TITLE = "commitments that are due", "commitments"

READ_DEADLINE_S = 10.0
LOOK_S, TOPIC_S = 1.0, 2.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RecalledText:
    """The recalled text with its passages (none for whole notes). `degraded`: why the search was limited, such as an
    unloaded model."""

    frame: TextFrame
    assembly: BudgetedText
    passages: tuple[Passage, ...] = ()
    degraded: str | None = None
    confidence: float | None = None  # the confidence of a question's answer
    chunks: Sequence[RankedChunk] = ()  # the passages with their scores
    unsure: tuple[Passage, ...] = ()  # passages that perhaps help with a prompt
    wanted: bool = False  # whether a prompt probably wants memory that has nothing for it
    explained: Sequence[str] = ()  # lines on what became of the budget

    @property
    def text(self) -> str:
        return render(self.frame, self.assembly)

    @property
    def lines(self) -> set[tuple[str, int]]:
        """The lines of notes that the text shows whole."""
        return {
            (excerpt.path, number)
            for excerpt in self.assembly.excerpts
            for number, line in enumerate(excerpt.text.split("\n"), excerpt.start_line)
            if not line.endswith(CUT)
        }


@dataclass(frozen=True)
class RecallAnswerer:
    """Recall in three ways; each text stays within its budget (4 characters a token)."""

    vault: Vault
    index: Index
    searcher: Searcher
    config: RecallConfig
    clock: Clock
    current: CurrentValues
    uses: UseCounter
    subjects: list[SubjectPages] = field(default_factory=list[SubjectPages])
    newest: list[NewestNotes] = field(default_factory=list[NewestNotes])

    @property
    def topics(self) -> TopicPages:
        return TopicPages(self.vault, self.index, self.subjects)

    @property
    def reader(self) -> NoteReader:
        return NoteReader(self.vault, self.index, self.topics, self.current, self.config.private_marks, self.clock)

    async def question(
        self,
        query: str,
        filters: Filters,
        budget_tokens: int,
        phase: PhaseConfig,
        remarks: Sequence[str] = (),
        known: Callable[[Passage], bool] | None = None,
        answered: str = "",
        ask_below: float = 0.0,
    ) -> RecalledText:
        """Return the passages that search finds: whole entries, best first, neighbors joined. A question about a topic
        as a whole gets the topic's page first, in place of the page's notes. A question that asks only for commitments
        gets them by due date. A `phase` with a minimum confidence or relevance is for whole prompts, which may need no
        memory. Passages that the reader has (`known`) are skipped, and then all pages. `answered`: the answer before a
        prompt. `ask_below`: as in `likely_and_unsure`."""
        most = min(MOST_PASSAGES, max(LEAST_PASSAGES, budget_tokens * CHARS_PER_TOKEN // PASSAGE_CHARS))
        is_prompt = phase.least_confidence > 0 or phase.least_relevance > 0
        if not is_prompt and asks_for_commitments(query):
            contested = self.current.conflicts.contested
            given = self.index, filters, self.clock(), self.vault.layout.tz, contested.remark_on
            if due := await in_thread(commitments, *given, deadline_s=LOOK_S, what="looking for commitments"):
                return self.due(budget_tokens, map(due_line, due), COMMITMENTS_TITLE)
        pointed: list[RankedChunk] = []
        if is_prompt:
            ranked, fit = await self._fit_for_prompt(query, answered, filters, most, phase, known)
            chosen, pointed = likely_and_unsure(ranked, fit, known, ask_below)
        else:
            ranked = await self._rank(query, filters, most)
            chosen = for_question(ranked.passages, phase, is_weak=self.searcher.is_weak(ranked))
        notices = [*remarks, *([f"{NOTE}{ranked.degraded}."] if ranked.degraded else [])]
        frame = self._frame("memory", budget_tokens, notices)
        if is_prompt and not chosen and not pointed:
            wanted = (ranked.signs.wanting or 0) > 0  # more likely than not
            return RecalledText(frame, BudgetedText(()), (), ranked.degraded, wanted=wanted)
        found_unsure = await self._now(pointed, filters, query)
        unsure = tuple(passage for passage in found_unsure if not (known and known(passage)))
        if is_prompt and not chosen:
            return RecalledText(frame, BudgetedText(()), (), ranked.degraded, ranked.confidence, pointed, unsure)
        if ASKS_WHY.search(query):
            given = self.index, chosen, replace(filters, private=self.config.private_marks)
            chosen = await in_thread(with_reasons, *given, deadline_s=LOOK_S, what="following links")
        relevant = await self._now(chosen, filters, query)
        relevant = list(compress(relevant, fit_kinds(map(excerpt_of, relevant), phase.kind_budgets)))
        note = await self.searcher.remark(ranked, filters)
        notices += [f"{NOTE}{note}."] if note else []
        frame = self._frame("memory", budget_tokens, notices)
        stale = "; ".join(ranked.stale)[: frame.room(budget_tokens) // 4]
        room = frame.room(budget_tokens) - (len(stale) + 1 if stale else 0)
        room = room * 3 // 4 if filters.until else room  # the other quarter is for the values that replaced these
        wants_page = relevant and self.config.topic_pages and known is None and filters.until is None
        topic = await self.topic(query, filters) if wants_page else None
        found, passages = choose_with_page(relevant, topic, room, known, filters.project)
        further: Sequence[str] = ()
        if filters.until:
            what = "reading what holds now"
            further = await in_thread(remarks_on, self.vault.chains, passages, deadline_s=READ_DEADLINE_S, what=what)
        for line in filter(None, [*further, stale]):
            found = with_notice(found, line, frame.room(budget_tokens))
        return RecalledText(frame, found, passages, ranked.degraded, ranked.confidence, [*chosen, *pointed], unsure)

    async def _rank(self, query: str, filters: Filters, most: int) -> RankedList:
        """Rank the passages that answer a question, without pages that quote a forgotten note."""
        ranked = await self.searcher.rank(query, filters=filters, limit=most)
        pages = {chunk.passage.note.path for chunk in ranked.passages if is_made(chunk.passage.note)}
        if not pages:
            return ranked
        gone = await in_thread(withheld_among, pages, self.vault, self.index, deadline_s=LOOK_S, what="reading pages")
        return replace(ranked, passages=tuple(one for one in ranked.passages if one.passage.note.path not in gone))

    async def _now(self, chunks: Sequence[RankedChunk], filters: Filters, query: str) -> list[Passage]:
        """Return the passages with what holds now."""
        return await self.current.replace_older([chunk.passage for chunk in chunks], filters, query)

    async def _fit_for_prompt(
        self,
        prompt: str,
        answered: str,
        filters: Filters,
        most: int,
        phase: PhaseConfig,
        known: Callable[[Passage], bool] | None,
    ) -> tuple[RankedList, Sequence[RankedChunk]]:
        """Rank the passages that answer a prompt: the person's own passages, and foreign passages that the prompt names
        or that are its only answer. If own passages that aren't `known` fit better with the answer before the prompt,
        those come first."""

        def best(chosen: Iterable[RankedChunk]) -> float:
            new = [chunk.relevance for chunk in chosen if known is None or not known(chunk.passage)]
            return max(new, default=0.0)

        bars = PromptBars(phase, filters.project)
        ranked, told = await self._own_for_prompt(prompt, filters, most, bars)
        others = replace(filters, foreign=True)
        if await in_thread(self.index.count_chunks, others, deadline_s=LOOK_S, what="looking for imports"):
            foreign = await self.rank_for_prompt(prompt, others, most)
            ranked, told = with_foreign(prompt, bars, ranked, told, foreign)
        higher = PromptBars(replace(phase, least_relevance=LIKELY), filters.project)
        for whole in with_answer(prompt, answered, ranked.signs.wanting):
            other, fit = await self._own_for_prompt(whole, filters, most, higher)
            if best(fit) > best(told):
                fitting = {chunk.passage.chunk_id for chunk in fit}
                alone = [one for one in told if one.relevance >= LIKELY and one.passage.chunk_id not in fitting]
                ranked, told = other, [*fit, *alone]
        return ranked, told_once(told)

    async def _own_for_prompt(
        self, prompt: str, filters: Filters, most: int, bars: PromptBars
    ) -> tuple[RankedList, Sequence[RankedChunk]]:
        """Rank the person's own passages that answer a prompt."""
        ranked = await self.rank_for_prompt(prompt, replace(filters, foreign=False), most)
        return ranked, bars.fitting(bars.answering(ranked), prompt)

    async def rank_for_prompt(self, prompt: str, filters: Filters, most: int) -> RankedList:
        """Rank the passages for a prompt. Earlier showings of a note change its relevance."""
        ranked = await self.searcher.rank(prompt, filters=filters, limit=most, is_prompt=True)
        known = self.uses.outcomes(filters.project)
        passages = (
            replace(chunk, relevance=with_odds(chunk.relevance, odds_of(chunk.passage, known)))
            for chunk in ranked.passages
        )
        return replace(ranked, passages=tuple(passages))

    async def notes(
        self,
        paths: Sequence[tuple[NotePath, str | None]],
        lines: str | None,
        budget_tokens: int,
        wanted: Filters,
    ) -> RecalledText:
        """Return notes verbatim, or their lines `"10-20"`, and the nearest linked notes; a path with an entry hash
        selects that log entry. `wanted`: what the reader sees."""
        excerpts, links, remarks = await in_thread(
            self.reader.excerpts, paths, lines, wanted, deadline_s=READ_DEADLINE_S, what="reading notes"
        )
        frame = self._frame("notes", budget_tokens, remarks)
        assembly = fit(excerpts, frame.room(budget_tokens))
        for line in links:
            assembly = with_notice(assembly, line, frame.room(budget_tokens))
        return RecalledText(frame, assembly)

    async def verbatim(self, path: NotePath, entry: str | None) -> tuple[NoteFile, str]:
        """Return one note, or one log entry, with its text as on disk, without forgotten entries."""
        return await in_thread(self.reader.text, path, entry, deadline_s=READ_DEADLINE_S, what="reading the note")

    async def start(
        self,
        filters: Filters,
        budget_tokens: int,
        uses: Mapping[NoteId, NoteUse],
        usual_tokens: int | None = None,
        kind_budgets: Mapping[str, int] = NO_BUDGETS,
        loaded: Set[NotePath] = frozenset(),
    ) -> RecalledText:
        """Return the notes that every session should know: see `SessionStart`. With `usual_tokens`, the start that a
        session gets unasked. `loaded`: the files that the client reads by itself."""
        frame = await in_thread(self._start_frame, budget_tokens, deadline_s=READ_DEADLINE_S, what="reading")
        usual = None if usual_tokens is None else max(0, frame.room(usual_tokens))
        given, read = (
            (frame.room(budget_tokens), uses, usual, kind_budgets),
            self._session_start(filters, loaded=loaded).text,
        )
        return RecalledText(frame, await in_thread(read, *given, deadline_s=READ_DEADLINE_S, what="reading notes"))

    async def orders(self, filters: Filters, budget_tokens: int) -> RecalledText:
        """Return the standing orders that apply to this project."""
        frame = self._frame(ORDERS_TITLE, budget_tokens)
        room, read = frame.room(budget_tokens), self._session_start(filters).orders
        found = await in_thread(read, room, deadline_s=READ_DEADLINE_S, what="reading standing orders")
        return RecalledText(frame, found)

    def due(self, budget_tokens: int, lines: Iterable[str] = (), title: str = DUE_TITLE) -> RecalledText:
        """Return the lines about commitments that fit."""
        frame, found = self._frame(title, budget_tokens), BudgetedText(())
        for line in lines:
            found = with_notice(found, line, frame.room(budget_tokens))
        return RecalledText(frame, found)

    def lines_shown_of_memory(self, memory: NoteFile | None = None) -> tuple[int, int]:
        """Return how many lines of MEMORY.md fit into a session start, and how many MEMORY.md has, as it is or with the
        content `memory`; (0, 0) without a file. Reads the notes of a start: call it in a thread."""
        frame, config = self._start_frame(self.config.start_budget_tokens), self.config
        rooms = frame.room(config.start_budget_tokens), max(0, frame.room(config.start_usual_tokens))
        return self._session_start(Filters(), memory).lines_of_memory(*rooms)

    def shows_all(self, memory: NoteFile) -> bool:
        """Return whether a session start has room for all of `MEMORY.md` with this content."""
        shown, lines = self.lines_shown_of_memory(memory)
        return shown == lines

    def _session_start(
        self, filters: Filters, memory: NoteFile | None = None, loaded: Set[NotePath] = frozenset()
    ) -> SessionStart:
        def read(path: NotePath) -> NoteFile:
            return memory if memory and path == self.vault.layout.memory else self.reader.visible(path)

        wanted = replace(filters, private=self.config.private_marks, now=self.clock())
        return SessionStart(
            self.vault, self.index, read, self.config.log_days, self.config.private_marks, wanted, self.current,
            self.newest, loaded,
        )  # fmt: skip

    async def topic(self, query: str, filters: Filters) -> TopicPage | None:
        """Return the page of the topic that a question asks about as a whole."""
        if filters.authors or not (subject := topic_asked_about(query)):
            return None
        # private notes are only for those who ask for them
        wanted = replace(filters, private=self.config.private_marks)
        given = subject, self.searcher.meaning(query), wanted
        try:
            return await in_thread(self.topics.page_about, *given, deadline_s=TOPIC_S, what="looking for a topic")
        except McpMemoryError as error:  # the passages answer as well
            log.warning("recall: without a topic's page: %s", error.code)
            return None

    def _start_frame(self, budget_tokens: int) -> TextFrame:
        over = memory_over_budget(self.vault, self.config.memory_lines)
        return self._frame(START_TITLE, budget_tokens, [f"{NOTE}{over}."] if over else [])

    def _frame(self, title: str, budget_tokens: int, remarks: Sequence[str] = ()) -> TextFrame:
        as_of = f"{self.clock():%Y-%m-%d %H:%M}"
        return TextFrame(title, as_of, tuple(remarks), str(self.vault.roots()[""])).within(budget_tokens)
