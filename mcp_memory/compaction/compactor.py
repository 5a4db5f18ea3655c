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

from mcp_memory.compaction.execute_job import remove_vacant_topics
from mcp_memory.compaction.housekeeping import Housekeeper
from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.job_runner import JOB_S, JobRunner, Pace
from mcp_memory.compaction.journal import RunJournal
from mcp_memory.compaction.link_rewriter import LinkRewriter
from mcp_memory.compaction.page_refresh import FallbackPages, PageRefresh, StaleFlags
from mcp_memory.compaction.planner_view import PendingWork, PlannerView, RunScope, WorkLeft
from mcp_memory.compaction.preview import Preview
from mcp_memory.compaction.rounds import CompactionRounds
from mcp_memory.compaction.run_report import RunProgress, RunReport
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
    def is_foreground_waiting(self) -> bool:
        """Whether a person waits: who works in the background is to stop."""
        return self._persons

    @property
    def is_busy(self) -> bool:
        """Whether anybody works, or waits to."""
        return self._persons or self._lock.locked()

    @asynccontextmanager
    async def foreground(self) -> AsyncGenerator[None]:
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
    async def background(self) -> AsyncGenerator[None]:
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
        self._run_lock = RunLock()
        self.fallback_pages = FallbackPages(drafter.asked_in_s)
        self.progress = RunProgress(health.progress)
        self.work_left = WorkLeft()
        """By the last run that had its way with everything."""
        self.planner_view = survey = PlannerView(vault, index, drafter, config, clock)
        self.root = survey.root
        linkage = LinkRewriter(vault, lambda: writer.indexed_etags, lambda: writer.problems)
        mapper = TopicIndex(vault, index, self.root, config.map_tokens, clock)
        self._housekeeper = tender = Housekeeper(vault, index, drafter, journal, linkage, mapper)
        self._stale_flags = StaleFlags(vault, writer, self.root, lambda: survey.read_tree()[0], clock)
        self._job_runner = carrier = JobRunner(vault, index, indexer, journal, writer)
        self._rounds = CompactionRounds(
            vault, survey, drafter, linkage, carrier, self.fallback_pages, self.progress, draft_s
        )
        self._page_refresh = PageRefresh(survey, drafter, tender, carrier, self.fallback_pages, self.progress, draft_s)

    async def run(self, topic: str | None = None) -> RunReport:
        """For a person. `topic`: only what touches this one.

        Raises NotFound where that is none, Busy while another person's is under way, Refused for a vault that cannot be
        written, StorageFailed.
        """
        async with self._alone(self._run_lock.foreground()):
            self.fallback_pages.retry_all()
            report = await self._run(_at_once, topic)
            if topic is None:
                await in_thread(self._journal.release, what="the journal")
            return report

    async def run_in_background(self, lull: Lull) -> RunReport | None:
        """For nobody: waits for a `lull` before each job, and ends where a person wants to begin. None where one has
        taken a run back, and asked for none since. Raises as `run`."""

        async def pace() -> bool:
            await lull(lambda: self._run_lock.is_foreground_waiting)
            return not self._run_lock.is_foreground_waiting

        async with self._alone(self._run_lock.background()):
            held = await in_thread(lambda: self._journal.is_held, what="reading the journal")
            return None if held else await self._run(pace)

    async def undo(self, run: str) -> RunReport:
        """Take a run back, latest job first; what somebody changed since stays as it is and is named.

        Raises NotFound, Busy and as `run`.
        """
        async with self._alone(self._run_lock.foreground()):
            await self._check_ready()
            report = await self._job_runner.undo_run(run)
            # The map of a later run does not know of it.
            mended = RunReport(await self._new_run_name(), left=report.left)
            await self._page_refresh.run_if_due(mended, lambda tree: self._housekeeper.relate_topics(mended.run, tree))
            await self._page_refresh.run_if_due(mended, self._housekeeper.update_topic_index)
            report.kept += mended.kept
            return report

    async def mark_stale_pages(self) -> None:
        """Have the pages that are out of date say so; while a run is at work, it sees to them. Raises StorageFailed,
        IndexUnavailable."""
        if not self._run_lock.is_busy and not self._indexer.pruning_paused:
            async with self._run_lock.background():
                await self._stale_flags.update_flags()

    @asynccontextmanager
    async def paused(self) -> AsyncGenerator[None]:
        """No run meanwhile, and nothing of one left to do. Raises Busy while one is under way, StorageFailed."""
        async with self._alone(self._run_lock.foreground()):
            await self._job_runner.finish_jobs()
            yield

    async def finish_jobs(self) -> int:
        """Do what a crash left undone; how many jobs that were. Raises StorageFailed."""
        async with self._run_lock.background():
            done = await self._job_runner.finish_jobs()
            for run in (await in_thread(self._journal.list_runs, what="reading the journal"))[-1:]:
                await self._record_run(run)
            return done

    async def find_pending(self, *, whole: bool) -> PendingWork:
        """What a run would find to do; of the pages only where the `whole` tree is looked at. Raises
        IndexUnavailable."""
        look = partial(
            self.planner_view.find_pending,
            self.work_left,
            self.fallback_pages.may_retry,
            self._housekeeper.is_due,
            whole=whole,
        )
        return await in_thread(look, what="looking at the topics")

    async def preview(self, topic: str | None = None) -> Preview:
        """What `run` would do, with names that it may choose otherwise; changes nothing. Raises NotFound for a `topic`
        that is none, and for a note that changes meanwhile."""
        await self._indexer.reconcile()
        return await in_thread(lambda: self.planner_view.preview_run(topic), deadline_s=JOB_S, what="planning")

    # -- below -------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _alone(self, turn: AbstractAsyncContextManager[None]) -> AsyncGenerator[None]:
        async with turn:
            try:
                yield
            finally:
                self.progress.set_idle()

    async def _run(self, pace: Pace, topic: str | None = None) -> RunReport:
        await self._check_ready()
        await self._job_runner.finish_jobs()
        self._health.faults.pop("compaction", None)
        report = RunReport(await self._new_run_name())
        tree, fresh = await in_thread(self.planner_view.read_tree, what="looking at the topics")
        scope = RunScope.from_name(topic, tree, self.root) if topic is not None else RunScope()
        seen = await self._rounds.run_rounds(report, scope, pace)
        await self._page_refresh.run_if_due(report, self._housekeeper.remove_empty_pages)
        tried = await self._page_refresh.refresh_pages(report, scope, pace)
        if not report.cut:
            await self._finish_off(report)
        _, fresh = await in_thread(self.planner_view.read_tree, what="looking at the topics")
        report.waiting = len(fresh)
        if scope == RunScope() and not report.cut and not report.given_up:
            self.work_left = await in_thread(
                lambda: self.planner_view.work_left(seen, tried), what="looking at the topics"
            )
        await in_thread(self._journal.prune, what="tidying the journal")
        await in_thread(lambda: remove_vacant_topics(self._vault, self.root), what="removing folders")
        if report.done or report.kept:
            await self._record_run(report.run)
        return report

    async def _finish_off(self, report: RunReport) -> None:
        """What is not of one topic alone."""
        while await self._page_refresh.run_if_due(
            report, lambda tree: self._housekeeper.rename_folder(report.run, tree)
        ):
            pass
        await self._page_refresh.run_if_due(report, lambda tree: self._housekeeper.relate_topics(report.run, tree))
        await self._page_refresh.run_if_due(report, self._housekeeper.update_topic_index)

    async def _new_run_name(self) -> str:
        """A name for a run."""
        return await in_thread(lambda: self._journal.new_run_name(self._clock()), what="reading the journal")

    async def _record_run(self, run: str) -> None:
        self.progress.record_run(run, await in_thread(lambda: self._journal.read_run(run), what="reading the journal"))

    async def _check_ready(self) -> None:
        if await in_thread(lambda: self._vault.read_only, deadline_s=10, what="looking at the vault"):
            raise Refused("the vault is read-only", hint="compaction moves notes: let this user write there")
        await self._indexer.reconcile()
        if self._indexer.pruning_paused:
            raise Refused(f"{self._indexer.pruning_paused}", hint="mcp-memory doctor says what to do")


async def _at_once() -> bool:
    return True
