"""Plans and runs jobs, round after round, until there is nothing left to file."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_memory.compaction.job_builder import JobBuilder, PlannedMove
from mcp_memory.compaction.job_runner import JOB_S, JobRunner, Pace
from mcp_memory.compaction.journal import JobEntry
from mcp_memory.compaction.link_rewriter import LinkRewriter
from mcp_memory.compaction.page_refresh import FallbackPages
from mcp_memory.compaction.planner_view import MAX_ROUNDS, PlannerView, RunScope
from mcp_memory.compaction.run_report import RunProgress, RunReport
from mcp_memory.errors import McpMemoryError
from mcp_memory.models import NotePath, NoteRecord
from mcp_memory.runtime.threads import in_thread
from mcp_memory.topics.plan import PlanJob
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.vault import Vault


class CompactionRounds:
    """To be used alone."""

    def __init__(
        self,
        vault: Vault,
        survey: PlannerView,
        drafter: JobBuilder,
        linkage: LinkRewriter,
        carrier: JobRunner,
        provisional: FallbackPages,
        course: RunProgress,
        draft_s: float,
    ) -> None:
        """`draft_s`: how long drafting a job may take."""
        self._vault = vault
        self._survey = survey
        self._drafter = drafter
        self._linkage = linkage
        self._carrier = carrier
        self._provisional = provisional
        self._course = course
        self._draft_s = draft_s

    async def run_rounds(self, report: RunReport, scope: RunScope, pace: Pace) -> Sequence[NoteRecord]:
        """Each round plans from the tree as the last one left it. Returns the fresh notes that the last plan was made
        of. Raises IndexUnavailable, DeadlineExceeded."""
        fresh: Sequence[NoteRecord] = ()
        for _ in range(MAX_ROUNDS):
            self._course.step("planning")
            tree, fresh = await in_thread(self._survey.read_tree, what="looking at the topics")
            planned = await in_thread(lambda: self._survey.plan_round(tree, fresh), deadline_s=JOB_S, what="planning")  # noqa: B023 -- awaited here
            jobs = [job for job in planned if scope.includes_job(job)]
            if not jobs or not await self._carry_out(report, tree, fresh, jobs, pace):
                break
        return fresh

    async def _carry_out(
        self, report: RunReport, tree: Sequence[Topic], fresh: Sequence[NoteRecord], jobs: Sequence[PlanJob], pace: Pace
    ) -> int:
        """How many were done."""
        root = self._survey.root
        topics = {topic.folder[len(root) + 1 :]: topic for top in tree for topic in top.walk()}
        notes = {record.path[len(root) + 1 :]: record for record in fresh}
        names = {folder: [t.name for t in topics.values() if t.folder.rpartition("/")[0] == folder]
                 for folder in {f"{root}/{job.parent}".rstrip("/") for job in jobs}}  # fmt: skip
        done = 0
        for number, job in enumerate(jobs):
            self._course.step("compacting", number, len(jobs))
            if not await pace():
                report.cut = True
                return 0
            moving = PlannedMove([notes[path] for path in job.leaves], [topics[folder] for folder in job.topics])
            if mixed := [topic.name for topic in moving.topics if not await self._is_all_ours(topic)]:
                report.left.append(f"{', '.join(mixed)}: a note or folder of yours is in it, so it stays where it is")
                continue
            if bare := [each.name for topic in moving.topics for each in topic.walk() if each.page is None]:
                # Where it has gone nothing would tell that it is ours.
                report.left.append(f"{', '.join(bare)}: without a page it stays where it is")
                continue
            parent = NotePath(f"{root}/{job.parent}".rstrip("/"))

            def draft(
                job: PlanJob = job, moving: PlannedMove = moving, parent: NotePath = parent
            ) -> tuple[JobEntry, dict[NotePath, int]]:
                if job.into is not None:
                    return self._linkage.follow_moves(self._drafter.build_join(topics[job.into], moving))
                return self._linkage.follow_moves(self._drafter.build_new_topic(parent, names[parent], moving))

            try:
                entry, foreign = await in_thread(draft, deadline_s=self._draft_s, what="summarising")
                await self._carrier.run_job(report.run, entry)
            except McpMemoryError as error:
                report.add_error(error)
                continue
            if job.into is None:
                names[parent] += [entry.page.rsplit("/", 2)[1]]
            report.add_links(foreign)
            report.done.append(entry.about)
            self._provisional.record_job(entry, report)
            done += 1
        return done

    async def _is_all_ours(self, topic: Topic) -> bool:
        if not all(each.ours for each in topic.walk()):
            return False
        may_move = self._vault.filing.may_move
        notes = [note for each in topic.walk() for note in (*each.leaves, each.page) if note]
        return await in_thread(lambda: all(may_move(note.path, note.id) for note in notes), what="looking at notes")
