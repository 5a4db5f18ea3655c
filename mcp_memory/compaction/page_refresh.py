"""Rewrites stale topic pages, retries pages without a language model's summary, and sets `stale: true` marks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from math import inf
from time import monotonic

from mcp_memory.compaction.housekeeping import Housekeeper
from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.job_runner import JOB_S, JobRunner, Pace
from mcp_memory.compaction.journal import JobEntry
from mcp_memory.compaction.planner_view import PlannerView, RunScope, VersionMark
from mcp_memory.compaction.run_report import RunProgress, RunReport
from mcp_memory.compaction.topic_payloads import describe_proposal
from mcp_memory.errors import McpMemoryError, NotFound, PreconditionFailed
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import NotePath
from mcp_memory.runtime.threads import in_thread
from mcp_memory.topics.page import with_stale_flag
from mcp_memory.topics.plan import FRESH
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault

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

    async def refresh_pages(self, report: RunReport, scope: RunScope, pace: Pace) -> Collection[VersionMark]:
        """Each page is made from pages below it that are fresh already; so the tree is looked at after each level.
        Returns which topics were tried, as they were then. Raises IndexUnavailable."""
        tried: dict[NotePath, str] = {}
        while not report.cut:
            tree, _ = await in_thread(self._survey.read_tree, what="looking at the topics")
            due = [topic for top in tree for topic in top.walk()
                   if topic.folder not in tried and scope.includes_topic(topic.folder, self._survey.root)
                   and (topic.stale or self._provisional.may_retry(topic))]  # fmt: skip
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
                    report.add_error(error)
        return tried.items()

    async def run_if_due(self, report: RunReport, draft: Draft) -> bool:
        """What is not of one topic alone, so that it ends no run; whether anything was done."""
        try:
            tree, _ = await in_thread(self._survey.read_tree, what="looking at the topics")
            if entry := await in_thread(lambda: draft(tree), deadline_s=JOB_S, what="looking at pages"):
                await self._carrier.run_job(report.run, entry)
                report.kept.append(entry.about)
                return True
        except McpMemoryError as error:
            report.add_error(error)
        return False

    async def _one(self, report: RunReport, topic: Topic) -> None:
        entry = await in_thread(
            lambda: self._drafter.build_refresh(topic), deadline_s=self._draft_s, what="summarising"
        )
        if entry is None:
            entry = await in_thread(
                lambda: self._tender.propose_page(topic), deadline_s=self._draft_s, what="summarising"
            )
            if entry:
                await self._carrier.run_job(report.run, entry)
            if entry or topic.proposal:
                report.left.append(describe_proposal(topic))
            return
        if not entry.problem or topic.stale:  # else it would only say again what it says
            await self._carrier.run_job(report.run, entry)
            report.done.append(entry.about)
        self._provisional.record_job(entry, report)


AGAIN_S = 6 * 3600.0
"""How long until a page is asked for again for which the model's answer was of no use: the same question most often
brings the same answer, and each costs a call."""


class FallbackPages:
    """Which of them may be tried now. `asked_in_s` is the summarizer's, `clock` in monotonic seconds."""

    def __init__(self, asked_in_s: Callable[[], float], clock: Callable[[], float] = monotonic) -> None:
        self._asked_in_s = asked_in_s
        self._clock = clock
        self._in_vain: dict[NotePath, float] = {}

    def may_retry(self, topic: Topic) -> bool:
        """Whether the model can be asked for this topic's page now."""
        tried = self._in_vain.get(topic.page_path, -inf)
        return topic.provisional and self._clock() >= tried + AGAIN_S and self._asked_in_s() == 0

    def retry_in_s(self) -> float | None:
        """When the pages that are left are worth a look; None where no model will ever be there."""
        asked_in_s = self._asked_in_s()
        return None if asked_in_s == inf else asked_in_s or AGAIN_S

    def record_job(self, entry: JobEntry, report: RunReport) -> None:
        """A job was done; if its page was to be written by the model, and was not, the report says so."""
        if not entry.problem:
            return
        if self._asked_in_s() == 0:  # else nobody asks for a while anyhow, and the page may be in time after that
            self._in_vain[entry.page] = self._clock()
        report.provisional.append(f"{entry.page.rsplit('/', 2)[1]}: {entry.problem}")

    def retry_all(self) -> None:
        """A person wants all of them tried."""
        self._in_vain.clear()


class StaleFlags:
    """Looks at the tree only where a file of it has changed since the last time, or the day has: notes expire."""

    def __init__(
        self,
        vault: Vault,
        writer: IndexWriter,
        root: str,
        look: Callable[[], Sequence[Topic]],
        clock: Callable[[], datetime],
    ) -> None:
        """`root` is the folder of all topics; `look` reads the index."""
        self._vault = vault
        self._writer = writer
        self._root = root
        self._look = look
        self._clock = clock
        self._seen: int | None = None

    async def update_flags(self) -> None:
        """Pages of ours that are out of date get the mark, and those above them; others lose it. Raises StorageFailed,
        IndexUnavailable."""
        state = self._state()
        if state == self._seen:
            return
        for file in await in_thread(lambda: list(self._changed()), what="marking pages"):
            await self._writer.index_note(file)
        self._seen = state  # what has changed since is for the next sweep, our own marks with it

    def _state(self) -> int:
        """Of all filed notes and their pages; what is fresh belongs to no page."""
        inside, fresh = f"{self._root}/", f"{self._root}/{FRESH}/"
        standing = self._writer.indexed_etags.items()
        filed = frozenset(each for each in standing if each[0].startswith(inside) and not each[0].startswith(fresh))
        return hash((self._clock().date(), filed))

    def _changed(self) -> Iterator[NoteFile]:
        if self._vault.read_only:
            return
        for topic in (topic for top in self._look() for topic in top.walk()):
            page = topic.page
            if page is None or topic.edited or topic.outdated == page.meta.get("stale", False):
                continue
            try:
                file = self._vault.read(page.path)
                if file.record.etag == page.etag:
                    data = with_stale_flag(file.text, stale=topic.outdated).encode()
                    yield self._vault.filing.write_page(page.path, data, page.etag)
            except (NotFound, PreconditionFailed):
                continue  # somebody was faster; the next sweep looks again
