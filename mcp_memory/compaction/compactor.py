"""Grows the topic tree one journalled job at a time, and finishes interrupted jobs.

Each round plans from the current tree and runs the jobs. Then pages of empty topics are removed, stale pages are
rewritten from the deepest up, folders whose name no longer fits are renamed, and the lists of related topics and the
index of topics are updated. Summaries are made outside any lock. A job whose sources have changed is given up, and the
next run plans it again.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import partial

from mcp_memory.compaction.execute_job import SKIPPED_ERRORS, remove_vacant_topics
from mcp_memory.compaction.housekeeping import Housekeeper
from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.job_runner import JOB_S, JobRunner, Pace, RunLock
from mcp_memory.compaction.journal import JobEntry, MoveStep, RelinkStep, RunJournal, hash_job
from mcp_memory.compaction.link_rewriter import LinkRewriter
from mcp_memory.compaction.page_refresh import FallbackPages, PageRefresh, StaleFlags
from mcp_memory.compaction.planner_view import PendingWork, PlannerView, RunScope, VersionMark, WorkLeft
from mcp_memory.compaction.preview import Preview
from mcp_memory.compaction.rounds import CompactionRounds
from mcp_memory.compaction.run_report import RunProgress, RunReport
from mcp_memory.compaction.topic_edits import TopicEdit, TopicEditor
from mcp_memory.errors import Refused
from mcp_memory.index.base import Index
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import PrivateMarks
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.threads import in_thread
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.vault import Vault

Lull = Callable[[Callable[[], bool]], Awaitable[None]]
"""Waits until the engine is idle, or the callable returns True."""


class Compactor:
    """Runs one compaction at a time."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        writer: IndexWriter,
        reconciler: Reconciler,
        builder: JobBuilder,
        journal: RunJournal,
        config: TopicsConfig,
        private: PrivateMarks,
        health: Health,
        clock: Callable[[], datetime],
        answer_s: float,
    ) -> None:
        """Create a compactor. `private`: notes that no page links to; `answer_s`: the time limit of the summarizer for
        a page."""
        self._build_s = build_s = JOB_S + answer_s
        self._vault = vault
        self._reconciler = reconciler
        self._journal = journal
        self._health = health
        self._clock = clock
        self.run_lock = RunLock()
        self.fallback_pages = FallbackPages(builder.asked_in_s)
        self.progress = RunProgress(health.progress)
        self.work_left = WorkLeft()
        """The work left by the last complete run."""
        self.planner_view = view = PlannerView(vault, index, builder, config, private, clock)
        self.root = view.root
        self._links = links = LinkRewriter(
            vault,
            lambda path: index.note(path) is not None,
            lambda path: {one.source for one in index.links_to(path)[0]},
        )
        self._housekeeper = Housekeeper(vault, index, builder, journal, links, self.root, config.map_tokens, clock)
        self._editor = TopicEditor(vault, builder, links, self.root)
        self._stale_flags = StaleFlags(vault, writer, view, clock)
        self._job_runner = runner = JobRunner(vault, index, reconciler, journal, writer)
        self._rounds = CompactionRounds(
            vault, view, builder, links, runner, self.fallback_pages, self.progress, build_s
        )
        self._page_refresh = PageRefresh(view, builder, runner, self.fallback_pages, self.progress, build_s)

    async def run(self, topic: str | None = None) -> RunReport:
        """Run as you asked. `topic`: only run jobs for this topic.

        Raises NotFound for an unknown topic, Busy during another run of yours, Refused for a read-only vault,
        StorageFailed."""
        async with self._locked(self.run_lock.foreground()):
            self.fallback_pages.retry_all()
            report = await self._run(_at_once, topic)
            if topic is None:
                await in_thread(self._journal.release, what="the journal")
            return report

    async def run_in_background(self, lull: Lull) -> RunReport | None:
        """Run in the background. Waits for idle before each job and yields to a manual run. Return None if you undid a
        run and haven't asked for another since. Raises like `run`."""

        async def pace() -> bool:
            await lull(lambda: self.run_lock.is_foreground_waiting)
            return not self.run_lock.is_foreground_waiting

        async with self._locked(self.run_lock.background()):
            held = await in_thread(lambda: self._journal.is_held, what="reading the journal")
            return None if held else await self._run(pace)

    async def relocate(self, steps: Sequence[MoveStep | RelinkStep], about: str) -> RunReport:
        """Move notes and update links, or rewrite links, as a run that `undo` can revert. The report names files that
        couldn't be changed and stay. Raises like `run`."""
        async with self._locked(self.run_lock.foreground()):
            return await self._relocate(steps, about)

    async def relocate_in_background(self, steps: Sequence[MoveStep | RelinkStep], about: str) -> RunReport | None:
        """Relocate like `relocate`; return None if you undid a run and haven't asked for another since."""
        async with self._locked(self.run_lock.background()):
            held = await in_thread(lambda: self._journal.is_held, what="reading the journal")
            return None if held else await self._relocate(steps, about)

    async def _relocate(self, steps: Sequence[MoveStep | RelinkStep], about: str) -> RunReport:
        await self._check_ready()
        await self._job_runner.finish_jobs()
        report = RunReport(await self._new_run_name())
        for step in steps:
            place = step.target if isinstance(step, MoveStep) else step.path
            entry = JobEntry(hash_job(about, [report.run, place]), about, [step])
            try:
                entry, links = await in_thread(partial(self._links.follow_moves, entry), what="looking for links")
                await self._job_runner.run_job(report.run, entry)
            except SKIPPED_ERRORS as error:
                report.left.append(error.message)
            else:
                report.done.append(place)
                report.add_links(links)
        return report

    async def edit_topic(self, edit: TopicEdit) -> RunReport:
        """Rename, move, merge or split a topic, update links and pages, as a run that `undo` can revert. Raises
        InvalidInput, NotFound, Refused for your own files, and the errors of `run`."""
        async with self._locked(self.run_lock.foreground()):
            report = await self._begin()
            tree, _ = await in_thread(self.planner_view.read_tree, what="looking at the topics")
            build = partial(self._editor.build, edit, tree)
            entry, links = await in_thread(build, deadline_s=self._build_s, what="planning")
            await self._job_runner.run_job(report.run, entry)
            report.done.append(entry.about)
            report.add_links(links)
            await self._tidy_pages(report, RunScope(), _at_once)
            return await self._end(report)

    async def undo(self, run: str) -> RunReport:
        """Undo a run, latest job first. The report names files that have changed since; they stay.

        Raises NotFound, Busy, Refused for notes that a later run has moved, and the errors of `run`."""
        async with self._locked(self.run_lock.foreground()):
            await self._check_ready()
            report = await self._job_runner.undo_run(run)
            # Lists that a later run wrote are outdated now.
            mended = RunReport(await self._new_run_name(), left=report.left)
            await self._page_refresh.run_if_due(mended, partial(self._housekeeper.relate_topics, mended.run))
            await self._page_refresh.run_if_due(mended, self._housekeeper.update_topic_index)
            report.kept += mended.kept
            return report

    async def mark_stale_pages(self) -> None:
        """Mark outdated pages. Does nothing during a run, which updates them. Raises StorageFailed,
        IndexUnavailable."""
        if not self.run_lock.is_busy and not self._reconciler.pruning_paused:
            async with self.run_lock.background():
                await self._stale_flags.update_flags()

    @asynccontextmanager
    async def paused(self) -> AsyncGenerator[None]:
        """Prevent runs within the block, with all jobs finished. Raises Busy during a run, StorageFailed."""
        async with self._locked(self.run_lock.foreground()):
            await self._job_runner.finish_jobs()
            yield

    async def finish_jobs(self) -> int:
        """Finish interrupted jobs; return their number. Raises StorageFailed."""
        async with self.run_lock.background():
            done = await self._job_runner.finish_jobs()
            for run in (await in_thread(self._journal.list_runs, what="reading the journal"))[-1:]:
                await self._record_run(run)
            return done

    async def find_pending(self, *, whole: bool) -> PendingWork:
        """Return the work for a run. Pages are included only if the `whole` tree is read. Raises IndexUnavailable."""
        find = partial(
            self.planner_view.find_pending,
            self.work_left,
            self.fallback_pages.may_retry,
            self._is_untidy,
            whole=whole,
        )
        return await in_thread(find, what="looking at the topics")

    async def preview(self, topic: str | None = None) -> Preview:
        """Return the expected result of `run`, in which names may differ, without changing anything. Raises NotFound
        for an unknown topic and for a note that changes in the meantime."""
        await self._reconciler.reconcile()
        return await in_thread(partial(self.planner_view.preview_run, topic), deadline_s=JOB_S, what="planning")

    # -- below -------------------------------------------------------------------------------------------------

    def _is_untidy(self, tree: Sequence[Topic]) -> bool:
        is_renamed = self._editor.follow_rename(tree) is not None
        return is_renamed or self._housekeeper.is_due(tree)

    @asynccontextmanager
    async def _locked(self, lock: AbstractAsyncContextManager[None]) -> AsyncGenerator[None]:
        async with lock:
            try:
                yield
            finally:
                self.progress.set_idle()

    async def _begin(self) -> RunReport:
        await self._check_ready()
        await self._job_runner.finish_jobs()
        self._health.faults.pop("compaction", None)
        report = RunReport(await self._new_run_name())
        while await self._page_refresh.run_if_due(report, self._editor.follow_rename):
            pass
        return report

    async def _run(self, pace: Pace, topic: str | None = None) -> RunReport:
        report = await self._begin()
        tree, _ = await in_thread(self.planner_view.read_tree, what="looking at the topics")
        scope = RunScope.from_name(topic, tree, self.root)
        seen = await self._rounds.run_rounds(report, scope, pace)
        tried = await self._tidy_pages(report, scope, pace)
        _, fresh = await in_thread(self.planner_view.read_tree, what="looking at the topics")
        report.waiting = len(fresh)
        if scope == RunScope() and not report.cut and not report.given_up:
            work_left = partial(self.planner_view.work_left, seen, tried)
            self.work_left = await in_thread(work_left, what="looking at the topics")
        return await self._end(report)

    async def _tidy_pages(self, report: RunReport, scope: RunScope, pace: Pace) -> Collection[VersionMark]:
        """Tidy up the pages; return the topics whose pages were tried."""
        housekeeper, run_if_due = self._housekeeper, partial(self._page_refresh.run_if_due, report)
        await run_if_due(housekeeper.remove_empty_pages)
        tried = await self._page_refresh.refresh_pages(report, scope, pace)
        if not report.cut:
            renamed = len(report.kept)
            while await run_if_due(partial(housekeeper.rename_folder, report.run)):
                pass
            if len(report.kept) > renamed:  # the pages above link to the new names of the folders
                tried = {*tried, *await self._page_refresh.refresh_pages(report, scope, pace)}
            await run_if_due(partial(housekeeper.relate_topics, report.run))
            await run_if_due(housekeeper.update_topic_index)
        return tried

    async def _end(self, report: RunReport) -> RunReport:
        await in_thread(self._journal.prune, what="tidying the journal")
        await in_thread(partial(remove_vacant_topics, self._vault, self.root), what="removing folders")
        if report.done or report.kept:
            await self._record_run(report.run)
        return report

    async def _new_run_name(self) -> str:
        return await in_thread(lambda: self._journal.new_run_name(self._clock()), what="reading the journal")

    async def _record_run(self, run: str) -> None:
        self.progress.record_run(run, await in_thread(lambda: self._journal.read_run(run), what="reading the journal"))

    async def _check_ready(self) -> None:
        if await in_thread(lambda: self._vault.read_only, deadline_s=10, what="looking at the vault"):
            raise Refused("the vault is read-only", hint="compaction moves notes: let this user write there")
        await self._reconciler.reconcile()
        if self._reconciler.pruning_paused:
            raise Refused(f"{self._reconciler.pruning_paused}", hint="mcp-memory doctor says what to do")


async def _at_once() -> bool:
    return True
