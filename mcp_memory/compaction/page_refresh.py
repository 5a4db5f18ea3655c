"""The renewal of pages: those that do not say what is in their topic, and those a language model is to write yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from mcp_memory.compaction.fallback_pages import FallbackPages
from mcp_memory.compaction.housekeeping import Housekeeper
from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.job_runner import JOB_S, JobRunner
from mcp_memory.compaction.journal import JobEntry
from mcp_memory.compaction.pending_work import Mark
from mcp_memory.compaction.planner_view import PlannerView
from mcp_memory.compaction.progress import RunProgress
from mcp_memory.compaction.report import RunReport
from mcp_memory.compaction.rounds import Pace
from mcp_memory.compaction.scope import RunScope
from mcp_memory.compaction.serializers import told_of_proposal
from mcp_memory.errors import McpMemoryError
from mcp_memory.models import NotePath
from mcp_memory.runtime.threads import in_thread
from mcp_memory.topics.topic_tree import Topic

Draft = Callable[[Sequence[Topic]], JobEntry | None]


class PageRefresh:
    """To be used alone."""

    def __init__(
        self,
        survey: PlannerView,
        drafter: JobBuilder,
        tender: Housekeeper,
        carrier: JobRunner,
        provisional: FallbackPages,
        course: RunProgress,
        draft_s: float,
    ) -> None:
        """`draft_s`: how long drafting a page may take."""
        self._survey = survey
        self._drafter = drafter
        self._tender = tender
        self._carrier = carrier
        self._provisional = provisional
        self._course = course
        self._draft_s = draft_s

    async def renew(self, report: RunReport, scope: RunScope, pace: Pace) -> Collection[Mark]:
        """Each page is made from pages below it that are fresh already; so the tree is looked at after each level.
        Returns which topics were tried, as they were then. Raises IndexUnavailable."""
        tried: dict[NotePath, str] = {}
        while not report.cut:
            tree, _ = await in_thread(self._survey.tree_and_fresh, what="looking at the topics")
            due = [topic for top in tree for topic in top.walk()
                   if topic.folder not in tried and scope.includes(topic.folder, self._survey.root)
                   and (topic.stale or self._provisional.may_improve(topic))]  # fmt: skip
            lowest = min((topic.depth for topic in due), default=0)
            if not lowest:
                break
            whole = len(tried) + len(due)
            for topic in (topic for topic in due if topic.depth == lowest):
                self._course.step("writing pages", len(tried), whole)
                if not await pace():
                    report.cut = True
                    break
                tried[topic.folder] = topic.covers
                try:
                    await self._one(report, topic)
                except McpMemoryError as error:
                    report.give_up(error)
        return tried.items()

    async def touch(self, report: RunReport, draft: Draft) -> bool:
        """What is not of one topic alone, so that it ends no run; whether anything was done."""
        try:
            tree, _ = await in_thread(self._survey.tree_and_fresh, what="looking at the topics")
            if entry := await in_thread(lambda: draft(tree), deadline_s=JOB_S, what="looking at pages"):
                await self._carrier.carry_out(report.run, entry)
                report.kept.append(entry.about)
                return True
        except McpMemoryError as error:
            report.give_up(error)
        return False

    async def _one(self, report: RunReport, topic: Topic) -> None:
        entry = await in_thread(lambda: self._drafter.renewing(topic), deadline_s=self._draft_s, what="summarising")
        if entry is None:
            entry = await in_thread(lambda: self._tender.propose(topic), deadline_s=self._draft_s, what="summarising")
            if entry:
                await self._carrier.carry_out(report.run, entry)
            if entry or topic.proposal:
                report.left.append(told_of_proposal(topic))
            return
        if not entry.problem or topic.stale:  # else it would only say again what it says
            await self._carrier.carry_out(report.run, entry)
            report.done.append(entry.about)
        self._provisional.note_of(entry, report)
