"""Plans and runs jobs, round after round, until there is nothing left to file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.page_refresh import FallbackPages
from mcp_memory.compaction.planner_view import MAX_ROUNDS, Places, PlannerView
from mcp_memory.compaction.topic_moves import PlannedMove
from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.models import NotePath, NoteRecord
from mcp_memory.runs.job_runner import JOB_S, JobRunner, Pace
from mcp_memory.runs.journal import JobEntry
from mcp_memory.runs.link_rewriter import LinkRewriter
from mcp_memory.runs.run_report import RunProgress, RunReport, add_error, add_links
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.plan import PlanJob
from mcp_memory.topics.topic_tree import Topic


@dataclass(frozen=True, slots=True)
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
            plan_round = partial(self.view.plan_round, tree, fresh)
            jobs, places = await in_thread(plan_round, deadline_s=JOB_S, what="planning")
            if not jobs or not await self._run_jobs(report, tree, places, jobs, pace):
                break
        return fresh

    async def _run_jobs(
        self, report: RunReport, tree: Sequence[Topic], places: Places, jobs: Sequence[PlanJob], pace: Pace
    ) -> int:
        """Run the jobs; return the number of completed jobs."""
        root = self.view.root
        topics = {topic.folder[len(root) + 1 :]: topic for top in tree for topic in top.walk()}
        names: dict[str, list[str]] = {f"{root}/{job.parent}".rstrip("/"): [] for job in jobs}
        for topic in topics.values():
            folder = topic.folder.rpartition("/")[0]
            if folder in names:
                names[folder].append(topic.name)
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
                build = partial(self._build, target, parent, names[parent], moving)
                entry, foreign = await in_thread(build, deadline_s=self.build_s, what="summarising")
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
        if bare := [below.name for topic in moving.topics for below in topic.walk() if below.page is None]:
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
