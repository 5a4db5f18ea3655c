"""Runs the rounds of a compaction: files notes until there is nothing left to file, and rewrites stale topic pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic

from mcp_memory.compaction.job_builder import JobBuilder, PlannedMove
from mcp_memory.compaction.planner_view import MAX_ROUNDS, Places, PlannerView, VersionMark
from mcp_memory.errors import McpMemoryError, NotFound, PreconditionFailed, Refused
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Clock, NotePath, NoteRecord
from mcp_memory.runs.job_runner import JOB_S, JobRunner, Pace, RunProgress, RunReport, add_error, add_links
from mcp_memory.runs.journal import JobEntry
from mcp_memory.runs.link_rewriter import LinkRewriter
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import FRESH
from mcp_memory.topics.plan import PlanJob
from mcp_memory.topics.topic_tree import Topic, all_topics
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault


@dataclass(frozen=True)
class PageRefresh:
    """Refreshes pages one at a time: the caller must have the run lock."""

    view: PlannerView
    builder: JobBuilder
    runner: JobRunner
    fallback_pages: FallbackPages
    progress: RunProgress
    build_s: float
    """The deadline for building a page."""

    async def refresh_pages(self, report: RunReport, pace: Pace) -> Collection[VersionMark]:
        """Rewrite the stale pages. Pages are built from the pages below them, so the tree is read again after each
        level. Return the topics that were tried, as they were then. Raises IndexUnavailable."""
        tried: dict[NotePath, str] = {}
        while not report.cut:
            tree, _ = await in_thread(self.view.read_tree, what="looking at the topics")
            due = [topic for topic in all_topics(tree)
                   if topic.folder not in tried
                   and (topic.stale or self.fallback_pages.may_retry(topic))]  # fmt: skip
            lowest = min((topic.depth for topic in due), default=0)
            if not lowest:
                break
            whole = len(tried) + len(due)
            for topic in (topic for topic in due if topic.depth == lowest):
                self.progress.step("writing pages", len(tried), whole)
                if not await pace():
                    report.cut = True
                    break
                tried[topic.folder] = topic.covers
                try:
                    await self._refresh_page(report, topic)
                except McpMemoryError as error:
                    add_error(report, error)
        return tried.items()

    async def run_if_due(self, report: RunReport, build: Callable[[Sequence[Topic]], JobEntry | None]) -> bool:
        """Build and run a housekeeping job; an error doesn't end the run. Return whether anything was done."""
        try:
            tree, _ = await in_thread(self.view.read_tree, what="looking at the topics")
            if entry := await in_thread(build, tree, deadline_s=JOB_S, what="looking at pages"):
                await self.runner.run_job(report.run, entry)
                report.kept.append(entry.about)
                return True
        except McpMemoryError as error:
            add_error(report, error)
        return False

    async def _refresh_page(self, report: RunReport, topic: Topic) -> None:
        if entry := await in_thread(self.builder.build_refresh, topic, deadline_s=self.build_s, what="summarising"):
            if not entry.problem or topic.stale:  # otherwise the page would stay the same
                await self.runner.run_job(report.run, entry)
                report.done.append(entry.about)
            self.fallback_pages.record_job(entry, report)
        else:
            report.left.append(f"{topic.page_path} is your own: remove it to have one made")


AGAIN_S = 6 * 3600.0
"""The wait before the model is asked again after a useless answer: it usually repeats the answer, and each call
costs."""


class FallbackPages:
    """Tracks which fallback pages may be retried. `asked_in_s` is the summarizer's method; `clock` returns monotonic
    seconds."""

    def __init__(self, asked_in_s: Callable[[], float], clock: Callable[[], float] = monotonic) -> None:
        self._asked_in_s = asked_in_s
        self._clock = clock
        self._in_vain: dict[NotePath, float] = {}

    def may_retry(self, topic: Topic) -> bool:
        """Return whether the model may now be asked for this topic's page."""
        tried = self._in_vain.get(topic.page_path, -inf)
        return topic.provisional and self._clock() >= tried + AGAIN_S and self._asked_in_s() == 0

    def retry_in_s(self) -> float | None:
        """Return the seconds until the remaining pages are worth a retry; None without a model."""
        asked_in_s = self._asked_in_s()
        return None if asked_in_s == inf else asked_in_s or AGAIN_S

    def record_job(self, entry: JobEntry, report: RunReport) -> None:
        """Add the page to the report if the model should have written the page but didn't."""
        if not entry.problem:
            return
        if self._asked_in_s() == 0:  # otherwise the model is paused anyway
            self._in_vain[entry.page] = self._clock()
        report.provisional.append(f"{entry.page.rsplit('/', 2)[1]}: {entry.problem}")

    def retry_all(self) -> None:
        """Forget failed attempts, because you want all pages retried."""
        self._in_vain.clear()


class StaleFlags:
    """Updates the stale marks. Reads the tree only if a file of it or the date has changed since the last time: notes
    expire."""

    def __init__(self, vault: Vault, writer: IndexWriter, view: PlannerView, clock: Clock) -> None:
        self._vault = vault
        self._writer = writer
        self._view = view
        self._clock = clock
        self._seen: int | None = None
        self._linked: frozenset[NotePath] = frozenset()

    async def update_flags(self) -> None:
        """Mark our outdated pages and the pages above them, and unmark the others. Raises StorageFailed,
        IndexUnavailable."""
        state = self._state()
        if state == self._seen:
            return
        for file in await in_thread(lambda: list(self._changed()), what="marking pages"):
            await self._writer.index_note(file)
        self._seen = state  # later changes, including our own marks, wait for the next sweep

    def _state(self) -> int:
        """Return a hash of the date and of all filed notes and pages; other notes belong to no page."""
        inside, fresh = f"{self._view.root}/", f"{self._view.root}/{FRESH}/"
        etags = self._writer.indexed_etags
        filed = frozenset(
            item for item in etags.items() if item[0].startswith(inside) and not item[0].startswith(fresh)
        )
        return hash((self._clock().date(), filed, frozenset((path, etags.get(path)) for path in self._linked)))

    def _changed(self) -> Iterator[NoteFile]:
        if self._vault.read_only:
            return
        topics = all_topics(self._view.read_tree()[0])
        self._linked = frozenset(note.path for topic in topics for note in topic.leaves)
        for topic in topics:
            page = topic.page
            if page is None or topic.is_yours or topic.outdated == page.meta.get("stale", False):
                continue
            try:
                file = self._vault.read(page.path)
                if file.record.etag == page.etag:
                    data = frontmatter.patch(file.text, {"stale": topic.outdated}).encode()
                    yield self._vault.filing.write_page(page.path, data, page.etag)
            except (NotFound, PreconditionFailed):
                continue  # it changed meanwhile; the next sweep checks it again


@dataclass(frozen=True)
class CompactionRounds:
    """Runs the rounds one at a time: the caller must have the run lock."""

    view: PlannerView
    builder: JobBuilder
    links: LinkRewriter
    runner: JobRunner
    fallback_pages: FallbackPages
    progress: RunProgress
    build_s: float
    """The deadline for building a job, including the summary of its page."""

    async def run_rounds(self, report: RunReport, pace: Pace) -> Sequence[NoteRecord]:
        """Run rounds, each planned from the tree that the last round left. Return the fresh notes of the last plan.
        Raises IndexUnavailable, DeadlineExceeded."""
        fresh: Sequence[NoteRecord] = ()
        for _ in range(MAX_ROUNDS):
            self.progress.step("planning")
            tree, fresh = await in_thread(self.view.read_tree, what="looking at the topics")
            jobs, places = await in_thread(self.view.plan_round, tree, fresh, deadline_s=JOB_S, what="planning")
            if not jobs or not await self._run_jobs(report, tree, places, jobs, pace):
                break
        return fresh

    async def _run_jobs(
        self, report: RunReport, tree: Sequence[Topic], places: Places, jobs: Sequence[PlanJob], pace: Pace
    ) -> int:
        """Run the jobs; return the number of completed jobs."""
        root = self.view.root
        topics = {topic.folder[len(root) + 1 :]: topic for topic in all_topics(tree)}
        names: dict[str, list[str]] = {f"{root}/{job.parent}".rstrip("/"): [] for job in jobs}
        for topic in topics.values():
            if topic.parent in names:
                names[topic.parent].append(topic.name)
        done, failed = 0, list[McpMemoryError]()
        for number, job in enumerate(jobs):
            self.progress.step("compacting", number, len(jobs))
            if not await pace():
                report.cut = True
                return 0
            parent = NotePath(f"{root}/{job.parent}".rstrip("/"))
            target = None if job.into is None else topics[job.into]
            moving = PlannedMove([places[place] for place in job.leaves], [topics[folder] for folder in job.topics])
            moving = self._movable(report, moving, target)
            if moving is None:
                continue
            try:
                entry, foreign = await in_thread(
                    self._build, target, parent, names[parent], moving, deadline_s=self.build_s, what="summarising"
                )
                await self.runner.run_job(report.run, entry)
            except Refused as error:  # a note or folder of yours is in the way
                report.left.append(error.message)
                continue
            except McpMemoryError as error:
                failed.append(error)
                continue
            if target is None:
                names[parent] += [entry.page.rsplit("/", 2)[1]]
            add_links(report, foreign)
            report.done.append(entry.about)
            self.fallback_pages.record_job(entry, report)
            done += 1
        if not done:  # otherwise the next round tries again: an earlier job moved a note of the failed job
            for error in failed:
                add_error(report, error)
        return done

    def _movable(self, report: RunReport, moving: PlannedMove, target: Topic | None) -> PlannedMove | None:
        """Return what of a job may move; None for nothing. The report names what stays."""
        if bare := [topic.name for topic in all_topics(moving.topics) if topic.page is None]:
            # Nothing would identify the folder as ours at its new place.
            report.left.append(f"{', '.join(bare)}: without a page it stays where it is")
            return None
        linked = [note for note in moving.leaves if not self.builder.moves.is_inside(note)]
        if target is None or not target.is_yours or not linked:
            return moving
        # The notes would have to be listed on the page, which is yours.
        report.left.append(f"{target.page_path} is your own: {counted(len(linked), 'note')} can't be added to it")
        inside = [note for note in moving.leaves if note not in linked]
        return replace(moving, leaves=inside) if inside else None

    def _build(
        self, target: Topic | None, parent: NotePath, siblings: Sequence[str], moving: PlannedMove
    ) -> tuple[JobEntry, Mapping[NotePath, int]]:
        if target is None:
            return self.links.follow_moves(self.builder.build_new_topic(parent, siblings, moving))
        return self.links.follow_moves(self.builder.build_join(target, moving))
