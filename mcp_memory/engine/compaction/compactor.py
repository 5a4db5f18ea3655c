"""The compactor: lets the topic tree grow, one journalled job at a time, and finishes what a crash interrupted.

Each round plans from the tree as it is and carries out the jobs; then every stale page is made anew, deepest first.
Summaries are made outside any lock. A job whose sources changed meanwhile is given up; the next run sees them anew.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import partial

from mcp_memory.engine.compaction.carrying import carry_out, finish, stoppable
from mcp_memory.engine.compaction.course import Course
from mcp_memory.engine.compaction.drafting import Drafter, Moving
from mcp_memory.engine.compaction.grove import Topic
from mcp_memory.engine.compaction.journal import Entry, RunJournal
from mcp_memory.engine.compaction.outstanding import Left, Outstanding
from mcp_memory.engine.compaction.preview import Preview
from mcp_memory.engine.compaction.provisional import Provisional
from mcp_memory.engine.compaction.report import Report
from mcp_memory.engine.compaction.reversal import Reversal
from mcp_memory.engine.compaction.scope import Scope
from mcp_memory.engine.compaction.steps import Write
from mcp_memory.engine.compaction.survey import MOST_ROUNDS, Survey
from mcp_memory.engine.compaction.telling import Telling
from mcp_memory.engine.compaction.turns import Turns
from mcp_memory.engine.health import Health
from mcp_memory.engine.indexer import Indexer
from mcp_memory.engine.threads import in_thread
from mcp_memory.engine.vault import Vault
from mcp_memory.engine.writer import IndexWriter
from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.index.base import Index
from mcp_memory.models import NotePath, NoteRecord
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.plan import Job

JOB_S = 600.0
"""For planning, and for filing one job; drafting one may take as long as a language model may, besides."""

Pace = Callable[[], Awaitable[bool]]
"""Is waited for before each job; False where the run is to end there."""

Lull = Callable[[Callable[[], bool]], Awaitable[None]]
"""Waits until things are quiet, or what it is given says that there is no time for that."""


class Compactor:
    """One run at a time."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        writer: IndexWriter,
        indexer: Indexer,
        drafter: Drafter,
        journal: RunJournal,
        config: TopicsConfig,
        health: Health,
        clock: Callable[[], datetime],
        answer_s: float,
    ) -> None:
        """`answer_s`: how long the summarizer may take for a page."""
        self._vault = vault
        self._telling = Telling(writer)
        self._indexer = indexer
        self._drafter = drafter
        self._journal = journal
        self._health = health
        self._clock = clock
        self._draft_s = JOB_S + answer_s
        self._turns = Turns()
        self._reversal = Reversal(vault, index, indexer, journal, self._telling)
        self.provisional = Provisional(drafter.asked_in_s)
        self.course = Course(health.progress)
        self.left = Left()
        """By the last run that had its way with everything."""
        self.survey = Survey(vault, index, drafter, config, clock)
        self.root = self.survey.root

    async def run(self, topic: str | None = None) -> Report:
        """For a person. `topic`: only what touches this one.

        Raises NotFound where that is none, Busy while another person's is under way, Refused for a vault that cannot be
        written, StorageFailed.
        """
        async with self._alone(self._turns.of_a_person()):
            self.provisional.forget()
            report = await self._worked(_at_once, topic)
            if topic is None:
                await in_thread(self._journal.go_on, what="the journal")
            return report

    async def tend(self, lull: Lull) -> Report | None:
        """For nobody: waits for a `lull` before each job, and ends where a person wants to begin. None where one has
        taken a run back, and asked for none since. Raises as `run`."""

        async def pace() -> bool:
            await lull(lambda: self._turns.are_wanted)
            return not self._turns.are_wanted

        async with self._alone(self._turns.in_the_background()):
            held = await in_thread(lambda: self._journal.is_held, what="reading the journal")
            return None if held else await self._worked(pace)

    async def undo(self, run: str) -> Report:
        """Take a run back, latest job first; what somebody changed since stays as it is and is named.

        Raises NotFound, Busy and as `run`.
        """
        async with self._alone(self._turns.of_a_person()):
            await self._ready()
            return await self._reversal.of(run)

    @asynccontextmanager
    async def paused(self) -> AsyncGenerator[None]:
        """No run meanwhile, and nothing of one left to do. Raises Busy while one is under way, StorageFailed."""
        async with self._alone(self._turns.of_a_person()):
            await self._finish()
            yield

    async def finish(self) -> int:
        """Do what a crash left undone; how many jobs that were. Raises StorageFailed."""
        async with self._turns.in_the_background():
            done = await self._finish()
            for run in (await in_thread(self._journal.runs, what="reading the journal"))[-1:]:
                await self._ended(run)
            return done

    async def outstanding(self, *, whole: bool) -> Outstanding:
        """What a run would find to do; of the pages only where the `whole` tree is looked at. Raises
        IndexUnavailable."""
        look = partial(self.survey.outstanding, self.left, self.provisional.may_improve, whole=whole)
        return await in_thread(look, what="looking at the topics")

    async def preview(self, topic: str | None = None) -> Preview:
        """What `run` would do, with names that it may choose otherwise; changes nothing. Raises NotFound for a `topic`
        that is none, and for a note that changes meanwhile."""
        await self._indexer.reconcile()
        return await in_thread(lambda: self.survey.previewed(topic), deadline_s=JOB_S, what="planning")

    # -- below -------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _alone(self, turn: AbstractAsyncContextManager[None]) -> AsyncGenerator[None]:
        async with turn:
            try:
                yield
            finally:
                self.course.rest()

    async def _worked(self, pace: Pace, topic: str | None = None) -> Report:
        await self._ready()
        await self._finish()
        self._health.faults.pop("compaction", None)
        report = Report(await in_thread(lambda: self._journal.named(self._clock()), what="reading the journal"))
        tree, fresh = await in_thread(self.survey.look, what="looking at the topics")
        scope = Scope.of(topic, tree, self.root) if topic is not None else Scope()
        for _ in range(MOST_ROUNDS):
            self.course.step("planning")
            planned = await in_thread(lambda: self.survey.planned(tree, fresh), deadline_s=JOB_S, what="planning")  # noqa: B023 -- awaited here
            jobs = [job for job in planned if scope.wants(job)]
            if not jobs or not await self._carry_out(report, tree, fresh, jobs, pace):
                break
            tree, fresh = await in_thread(self.survey.look, what="looking at the topics")
        await self._renew(report, pace, scope)
        tree, fresh = await in_thread(self.survey.look, what="looking at the topics")
        report.waiting = len(fresh)
        if scope == Scope() and not report.cut and not report.given_up:
            self.left = await in_thread(lambda: self.survey.left(tree, fresh), what="looking at the topics")
        await in_thread(self._journal.prune, what="tidying the journal")
        if report.done:
            await self._ended(report.run)
        return report

    async def _ended(self, run: str) -> None:
        self.course.ended(run, await in_thread(lambda: self._journal.entries(run), what="reading the journal"))

    async def _ready(self) -> None:
        if await in_thread(lambda: self._vault.read_only, deadline_s=10, what="looking at the vault"):
            raise Refused("the vault is read-only", hint="compaction moves notes: let this user write there")
        await self._indexer.reconcile()
        if self._indexer.pruning_paused:
            raise Refused(f"{self._indexer.pruning_paused}", hint="mcp-memory doctor says what to do")

    async def _finish(self) -> int:
        async with self._indexer.still():
            return await in_thread(
                lambda: finish(self._vault, self._journal, self._telling.from_thread), deadline_s=JOB_S, what="filing"
            )

    async def _carry_out(
        self, report: Report, tree: Sequence[Topic], fresh: Sequence[NoteRecord], jobs: Sequence[Job], pace: Pace
    ) -> int:
        """How many were done."""
        topics = {topic.folder[len(self.root) + 1 :]: topic for top in tree for topic in top.walk()}
        notes = {record.path[len(self.root) + 1 :]: record for record in fresh}
        names = {folder: [t.name for t in topics.values() if t.folder.rpartition("/")[0] == folder]
                 for folder in {f"{self.root}/{job.parent}".rstrip("/") for job in jobs}}  # fmt: skip
        done = 0
        for number, job in enumerate(jobs):
            self.course.step("compacting", number, len(jobs))
            if report.cut or not await pace():
                report.cut = True
                return 0
            moving = Moving([notes[path] for path in job.leaves], [topics[folder] for folder in job.topics])
            if mixed := [topic.name for topic in moving.topics if not await self._is_all_ours(topic)]:
                report.left.append(f"{', '.join(mixed)}: notes of yours are in it, so it stays where it is")
                continue
            parent = NotePath(f"{self.root}/{job.parent}".rstrip("/"))

            def draft(job: Job = job, moving: Moving = moving, parent: NotePath = parent) -> Entry:
                if job.into is not None:
                    return self._drafter.joining(topics[job.into], moving)
                return self._drafter.founding(parent, names[parent], moving)

            try:
                entry = await in_thread(draft, deadline_s=self._draft_s, what="summarising")
                await self._do(report, entry)
            except McpMemoryError as error:
                report.give_up(error)
                continue
            if job.into is None:
                names[parent] += [_folder_of(_page_of(entry))]
            done += 1
        return done

    async def _is_all_ours(self, topic: Topic) -> bool:
        may_move = self._vault.filing.may_move
        notes = [note for each in topic.walk() for note in each.leaves]
        return await in_thread(lambda: all(may_move(note.path, note.id) for note in notes), what="looking at notes")

    async def _renew(self, report: Report, pace: Pace, scope: Scope) -> None:
        """Each page is made from pages below it that are fresh already; so the tree is looked at after each level."""
        tried: set[NotePath] = set()
        while not report.cut:
            tree, _ = await in_thread(self.survey.look, what="looking at the topics")
            due = [topic for top in tree for topic in top.walk()
                   if topic.folder not in tried and scope.holds(topic.folder, self.root)
                   and (topic.stale or self.provisional.may_improve(topic))]  # fmt: skip
            lowest = min((topic.depth for topic in due), default=0)
            if not lowest:
                return
            whole = len(tried) + len(due)
            for topic in (topic for topic in due if topic.depth == lowest):
                self.course.step("writing pages", len(tried), whole)
                if not await pace():
                    report.cut = True
                    return
                tried.add(topic.folder)
                try:
                    entry = await in_thread(
                        lambda topic=topic: self._drafter.renewing(topic), deadline_s=self._draft_s, what="summarising"
                    )
                    if entry is None:
                        self.provisional.note(topic.page_path)
                        report.left.append(f"{topic.page_path}: a person's own words; it is left alone")
                    elif entry.problem and not topic.stale:
                        self._stands_in(report, entry)  # as before
                    else:
                        await self._do(report, entry)
                except McpMemoryError as error:
                    report.give_up(error)

    def _stands_in(self, report: Report, entry: Entry) -> None:
        page = _page_of(entry)
        self.provisional.note(page)
        report.provisional.append(f"{_folder_of(page)}: {entry.problem}")

    async def _do(self, report: Report, entry: Entry) -> None:
        """Whole, or not at all, or left to the next start: nobody waits for a thread that files on by itself."""
        with stoppable(self._telling.from_thread) as tell:
            async with self._indexer.still():
                filing = partial(carry_out, self._vault, self._journal, report.run, entry, tell)
                await in_thread(filing, deadline_s=JOB_S, what="filing")
        report.done.append(entry.about)
        if entry.problem:
            self._stands_in(report, entry)


async def _at_once() -> bool:
    return True


def _page_of(entry: Entry) -> NotePath:
    """What a founding or renewing job writes last."""
    page = entry.steps[-1]
    assert isinstance(page, Write)
    return page.path


def _folder_of(page: NotePath) -> str:
    """Its name."""
    return page.rsplit("/", 2)[1]
