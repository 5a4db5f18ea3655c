"""Grows the topic tree one journalled job at a time, and finishes what a crash interrupted.

Each round plans from the current tree and runs the jobs. Then pages of empty topics are removed, stale pages are
rewritten from the deepest up, folders whose name no longer fits are renamed, and the lists of related topics and the
index of topics are updated. Summaries are made outside any lock. A job whose sources have changed is given up, and the
next run plans it again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import partial

import anyio

from mcp_memory.compaction.execute_job import remove_vacant
from mcp_memory.compaction.housekeeping import Housekeeper
from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.job_runner import JOB_S, IndexUpdates, JobRunner, Pace, RunUndo
from mcp_memory.compaction.journal import RunJournal
from mcp_memory.compaction.link_rewriter import LinkRewriter
from mcp_memory.compaction.page_refresh import FallbackPages, PageRefresh, StaleFlags
from mcp_memory.compaction.planner_view import PendingWork, PlannerView, RunScope, WorkLeft
from mcp_memory.compaction.preview import Preview
from mcp_memory.compaction.report import RunProgress, RunReport
from mcp_memory.compaction.rounds import CompactionRounds
from mcp_memory.compaction.topic_index import TopicIndex
from mcp_memory.errors import Busy, Refused
from mcp_memory.index.base import Index
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.threads import in_thread
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.vault.vault import Vault


class RunLock:
    """A person's turn waits for what a crash left and for the next job of a run in the background, which takes
    moments; another person's is not waited for."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._persons = False

    @property
    def are_wanted(self) -> bool:
        """Whether a person waits: who works in the background is to stop."""
        return self._persons

    @property
    def are_taken(self) -> bool:
        """Whether anybody works, or waits to."""
        return self._persons or self._lock.locked()

    @asynccontextmanager
    async def of_a_person(self) -> AsyncGenerator[None]:
        """Raises Busy while another person's is under way."""
        if self._persons:
            raise Busy(
                "a compaction is running", hint="try again when it is done: mcp-memory status shows how far it is"
            )
        self._persons = True
        try:
            async with self._lock:
                yield
        finally:
            self._persons = False

    @asynccontextmanager
    async def in_the_background(self) -> AsyncGenerator[None]:
        async with self._lock:
            yield


Lull = Callable[[Callable[[], bool]], Awaitable[None]]
"""Waits until things are quiet, or what it is given says that there is no time for that."""


class Compactor:
    """One run at a time."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        writer: IndexWriter,
        indexer: Reconciler,
        drafter: JobBuilder,
        journal: RunJournal,
        config: TopicsConfig,
        health: Health,
        clock: Callable[[], datetime],
        answer_s: float,
    ) -> None:
        """`answer_s`: how long the summarizer may take for a page."""
        draft_s = JOB_S + answer_s
        self._vault = vault
        self._indexer = indexer
        self._journal = journal
        self._health = health
        self._clock = clock
        self._turns = RunLock()
        self.provisional = FallbackPages(drafter.asked_in_s)
        self.course = RunProgress(health.progress)
        self.left = WorkLeft()
        """By the last run that had its way with everything."""
        self.survey = survey = PlannerView(vault, index, drafter, config, clock)
        self.root = survey.root
        linkage = LinkRewriter(vault, lambda: writer.indexed_etags, lambda: writer.problems)
        mapper = TopicIndex(vault, index, self.root, config.map_tokens, clock)
        self._tender = tender = Housekeeper(vault, index, drafter, journal, linkage, mapper)
        self._marking = StaleFlags(vault, writer, self.root, lambda: survey.tree_and_fresh()[0], clock)
        self._carrier = carrier = JobRunner(vault, index, indexer, journal, IndexUpdates(writer))
        self._filer = CompactionRounds(vault, survey, drafter, linkage, carrier, self.provisional, self.course, draft_s)
        self._renewal = PageRefresh(survey, drafter, tender, carrier, self.provisional, self.course, draft_s)
        self._reversal = RunUndo(vault, journal, carrier)

    async def run(self, topic: str | None = None) -> RunReport:
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

    async def tend(self, lull: Lull) -> RunReport | None:
        """For nobody: waits for a `lull` before each job, and ends where a person wants to begin. None where one has
        taken a run back, and asked for none since. Raises as `run`."""

        async def pace() -> bool:
            await lull(lambda: self._turns.are_wanted)
            return not self._turns.are_wanted

        async with self._alone(self._turns.in_the_background()):
            held = await in_thread(lambda: self._journal.is_held, what="reading the journal")
            return None if held else await self._worked(pace)

    async def undo(self, run: str) -> RunReport:
        """Take a run back, latest job first; what somebody changed since stays as it is and is named.

        Raises NotFound, Busy and as `run`.
        """
        async with self._alone(self._turns.of_a_person()):
            await self._ready()
            report = await self._reversal.undo(run)
            # The map of a later run does not know of it.
            mended = RunReport(await self._named(), left=report.left)
            await self._renewal.touch(mended, lambda tree: self._tender.relate(mended.run, tree))
            await self._renewal.touch(mended, self._tender.draw)
            report.kept += mended.kept
            return report

    async def mark(self) -> None:
        """Have the pages that are out of date say so; while a run is at work, it sees to them. Raises StorageFailed,
        IndexUnavailable."""
        if not self._turns.are_taken and not self._indexer.pruning_paused:
            async with self._turns.in_the_background():
                await self._marking.mark()

    @asynccontextmanager
    async def paused(self) -> AsyncGenerator[None]:
        """No run meanwhile, and nothing of one left to do. Raises Busy while one is under way, StorageFailed."""
        async with self._alone(self._turns.of_a_person()):
            await self._carrier.finish()
            yield

    async def finish(self) -> int:
        """Do what a crash left undone; how many jobs that were. Raises StorageFailed."""
        async with self._turns.in_the_background():
            done = await self._carrier.finish()
            for run in (await in_thread(self._journal.runs, what="reading the journal"))[-1:]:
                await self._ended(run)
            return done

    async def outstanding(self, *, whole: bool) -> PendingWork:
        """What a run would find to do; of the pages only where the `whole` tree is looked at. Raises
        IndexUnavailable."""
        look = partial(
            self.survey.outstanding, self.left, self.provisional.may_improve, self._tender.is_due, whole=whole
        )
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

    async def _worked(self, pace: Pace, topic: str | None = None) -> RunReport:
        await self._ready()
        await self._carrier.finish()
        self._health.faults.pop("compaction", None)
        report = RunReport(await self._named())
        tree, fresh = await in_thread(self.survey.tree_and_fresh, what="looking at the topics")
        scope = RunScope.named(topic, tree, self.root) if topic is not None else RunScope()
        seen = await self._filer.file(report, scope, pace)
        await self._renewal.touch(report, self._tender.clear)
        tried = await self._renewal.renew(report, scope, pace)
        if not report.cut:
            await self._finish_off(report)
        _, fresh = await in_thread(self.survey.tree_and_fresh, what="looking at the topics")
        report.waiting = len(fresh)
        if scope == RunScope() and not report.cut and not report.given_up:
            self.left = await in_thread(lambda: self.survey.work_left(seen, tried), what="looking at the topics")
        await in_thread(self._journal.prune, what="tidying the journal")
        await in_thread(lambda: remove_vacant(self._vault, self.root), what="removing folders")
        if report.done or report.kept:
            await self._ended(report.run)
        return report

    async def _finish_off(self, report: RunReport) -> None:
        """What is not of one topic alone."""
        while await self._renewal.touch(report, lambda tree: self._tender.rename(report.run, tree)):
            pass
        await self._renewal.touch(report, lambda tree: self._tender.relate(report.run, tree))
        await self._renewal.touch(report, self._tender.draw)

    async def _named(self) -> str:
        """A name for a run."""
        return await in_thread(lambda: self._journal.new_name(self._clock()), what="reading the journal")

    async def _ended(self, run: str) -> None:
        self.course.ended(run, await in_thread(lambda: self._journal.entries(run), what="reading the journal"))

    async def _ready(self) -> None:
        if await in_thread(lambda: self._vault.read_only, deadline_s=10, what="looking at the vault"):
            raise Refused("the vault is read-only", hint="compaction moves notes: let this user write there")
        await self._indexer.reconcile()
        if self._indexer.pruning_paused:
            raise Refused(f"{self._indexer.pruning_paused}", hint="mcp-memory doctor says what to do")


async def _at_once() -> bool:
    return True
