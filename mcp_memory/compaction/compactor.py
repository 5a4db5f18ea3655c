"""Grows the topic tree one journalled job at a time.

Each round plans from the current tree and runs the jobs. Then pages of empty topics are removed, and stale pages are
rewritten from the deepest up. Folders whose name no longer fits are renamed. Last, the lists of related topics and the
index of topics are updated. Summaries are made outside any lock. A job whose sources have changed is given up, and the
next run plans it again.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial

from mcp_memory.compaction.job_builder import Housekeeper, JobBuilder
from mcp_memory.compaction.planner_view import PendingWork, PlannerView, VersionMark, WorkLeft
from mcp_memory.compaction.rounds import CompactionRounds, FallbackPages, PageRefresh, StaleFlags
from mcp_memory.compaction.topic_edits import EditTopicRequest, TopicEditor
from mcp_memory.core.core import Core
from mcp_memory.runs.execute_job import remove_vacant_topics
from mcp_memory.runs.job_runner import JOB_S, Pace, RunReport, add_links
from mcp_memory.runtime.threads import in_thread
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.topic_tree import Topic

Lull = Callable[[Callable[[], bool]], Awaitable[None]]
"""Waits until the engine is idle, or the callable returns True."""


class Compactor:
    """Runs one compaction at a time."""

    def __init__(self, core: Core, builder: JobBuilder, config: TopicsConfig) -> None:
        runs, vault, index = core.runs, core.vault, core.index
        self._build_s = build_s = JOB_S + core.config.summarizer.summary_s
        self._vault = vault
        self._reconciler = core.indexing.reconciler
        self._health = core.background.health
        self._runs = runs
        self.fallback_pages = FallbackPages(builder.asked_in_s)
        self.progress = runs.progress
        self.work_left = WorkLeft()
        """The work left by the last complete run."""
        private = core.config.recall.private_marks
        self.planner_view = view = PlannerView(vault, index, config, private, core.clock)
        self.root = root = view.root
        self._housekeeper = Housekeeper(vault, index, builder, runs.journal, runs.links, root, core.clock)
        self._editor = TopicEditor(vault, builder, runs.links, root)
        self._stale_flags = StaleFlags(vault, core.indexing.writer, view, core.clock)
        self._rounds = CompactionRounds(
            view, builder, runs.links, runs.runner, self.fallback_pages, self.progress, build_s
        )
        self._page_refresh = PageRefresh(view, builder, runs.runner, self.fallback_pages, self.progress, build_s)
        runs.after_undo.append(self._mend_lists)

    async def run(self) -> RunReport:
        """Run as you asked. Raises Busy during another run of yours, Refused for a read-only vault, StorageFailed."""
        async with self._runs.in_foreground():
            self.fallback_pages.retry_all()
            report = await self._run(_at_once)
            await in_thread(self._runs.journal.release, what="the journal")
            return report

    async def run_in_background(self, lull: Lull) -> RunReport | None:
        """Run in the background. Waits for idle before each job and yields to a manual run. Return None if you undid a
        run and haven't asked for another since. Raises like `run`."""
        lock = self._runs.lock

        async def pace() -> bool:
            await lull(lambda: lock.is_foreground_waiting)
            return not lock.is_foreground_waiting

        async with self._runs.in_background() as may_run:
            return await self._run(pace) if may_run else None

    async def edit_topic(self, edit: EditTopicRequest) -> RunReport:
        """Rename, move, merge or split a topic, update links and pages, as a run that can be undone. Raises
        InvalidInput, NotFound, Refused for your own files, and the errors of `run`."""
        async with self._runs.in_foreground():
            report = await self._begin()
            tree, _ = await in_thread(self.planner_view.read_tree, what="looking at the topics")
            entry, links = await in_thread(self._editor.build, edit, tree, deadline_s=self._build_s, what="planning")
            await self._runs.runner.run_job(report.run, entry)
            report.done.append(entry.about)
            add_links(report, links)
            await self._tidy_pages(report, _at_once)
            return await self._end(report)

    async def mark_stale_pages(self) -> None:
        """Mark outdated pages. Does nothing during a run, which updates them. An error becomes a fault."""
        with self._health.watching("topics"):
            if not self._runs.lock.is_busy and not self._reconciler.pruning_paused:
                async with self._runs.lock.background():
                    await self._stale_flags.update_flags()

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

    # -- below -------------------------------------------------------------------------------------------------

    def _is_untidy(self, tree: Sequence[Topic]) -> bool:
        is_renamed = self._editor.follow_rename(tree) is not None
        return is_renamed or self._housekeeper.is_due(tree)

    async def _begin(self) -> RunReport:
        report = await self._runs.begin()
        self._health.faults.pop("compaction", None)
        while await self._page_refresh.run_if_due(report, self._editor.follow_rename):
            pass
        return report

    async def _mend_lists(self, report: RunReport) -> None:
        """Update the lists that a later run than the undone one wrote."""
        mended = await self._runs.new_report()
        mended.left = report.left
        await self._page_refresh.run_if_due(mended, partial(self._housekeeper.relate_topics, mended.run))
        await self._page_refresh.run_if_due(mended, self._housekeeper.update_topic_index)
        report.kept += mended.kept

    async def _run(self, pace: Pace) -> RunReport:
        report = await self._begin()
        seen = await self._rounds.run_rounds(report, pace)
        tried = await self._tidy_pages(report, pace)
        _, fresh = await in_thread(self.planner_view.read_tree, what="looking at the topics")
        report.waiting = len(fresh)
        if not report.cut and not report.given_up:
            self.work_left = await in_thread(self.planner_view.work_left, seen, tried, what="looking at the topics")
        return await self._end(report)

    async def _tidy_pages(self, report: RunReport, pace: Pace) -> Collection[VersionMark]:
        """Tidy up the pages; return the topics whose pages were tried."""
        housekeeper, run_if_due = self._housekeeper, partial(self._page_refresh.run_if_due, report)
        await run_if_due(housekeeper.remove_empty_pages)
        tried = await self._page_refresh.refresh_pages(report, pace)
        if not report.cut:
            renamed = len(report.kept)
            while await run_if_due(partial(housekeeper.rename_folder, report.run)):
                pass
            if len(report.kept) > renamed:  # the pages above link to the new names of the folders
                tried = {*tried, *await self._page_refresh.refresh_pages(report, pace)}
            await run_if_due(partial(housekeeper.relate_topics, report.run))
            await run_if_due(housekeeper.update_topic_index)
        return tried

    async def _end(self, report: RunReport) -> RunReport:
        await in_thread(self._runs.journal.prune, what="tidying the journal")
        await in_thread(remove_vacant_topics, self._vault, self.root, what="removing folders")
        if report.done or report.kept:
            await self._runs.record_run(report.run)
        return report


async def _at_once() -> bool:
    return True
