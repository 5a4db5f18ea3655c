"""Runs compaction in the background, once changes have settled and the engine is idle."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from mcp_memory.compaction.compactor import Compactor
from mcp_memory.compaction.planner_view import PendingWork
from mcp_memory.errors import Refused, StorageFailed
from mcp_memory.jobs.job import AfterQuiet, Job, JobReport, JobTurn
from mcp_memory.models import NotePath
from mcp_memory.runs.job_runner import IDLE
from mcp_memory.runtime.health import Health
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.page import FRESH

TOPICS_JOB = "topics"
OFF = "topics.automatic is off"
HELD = "you undid a run: automatic compaction resumes after the next mcp-memory topics compact"
NOTHING = "nothing to do"
QUIET = "something has changed: waiting until changes stop"
INCOMPLETE = "the index is not complete yet"


class AutoCompactor:
    """Compacts topics as a background job."""

    def __init__(self, compactor: Compactor, model: EmbedderLifecycle, health: Health, config: TopicsConfig) -> None:
        self._compactor = compactor
        self._model = model
        self._health = health
        self._config = config
        self.due = AfterQuiet(
            quiet_s=config.quiet_s, longest_wait_s=config.longest_wait_s, concerns=self._concerns_topics
        )
        self._tree_changed = True
        self._why_idle = INCOMPLETE

    def job(self, longest_s: float) -> Job:
        about, off = "Files fresh notes under topics", None if self._config.automatic else OFF
        return Job(TOPICS_JOB, about, self.due, self._check_topics, off=off, longest_s=longest_s)

    def look_at_all(self) -> None:
        """Request a full check, once the index is complete. Files may have changed while the daemon was down."""
        self.due.note_change()
        self._why_idle = NOTHING

    def _concerns_topics(self, paths: Collection[NotePath]) -> bool:
        ours = list(filter(self._compactor.planner_view.concerns, paths))
        self._tree_changed |= any(not path.startswith(f"{self._compactor.root}/{FRESH}/") for path in ours)
        return bool(ours)

    def status(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Return the state of compaction. `job` is the scheduler's state of the job. `next_s` is the time in seconds
        until the topics are checked, and compacted if there is work."""
        progress = self._compactor.progress
        why = QUIET if self.due.is_waiting and self._why_idle == NOTHING else self._why_idle
        why = f"the last run failed: {job['result']}" if job["failures"] else why
        off = job["off"] or ("paused" if job["paused"] else None)
        is_idle = progress.now.phase == IDLE
        return {
            "automatic": off is None,
            "phase": progress.now.phase,
            "progress": [progress.now.done, progress.now.total],
            "why_idle": (f"{off}: run mcp-memory topics compact" if off else why) if is_idle else None,
            "next_s": job["next_s"] if is_idle else None,
            "last": {"run": progress.last.run, "about": progress.last.about} if progress.last else None,
            "failures": job["failures"],
            "failure": job["result"] if job["failures"] else None,
        }

    # -- below -------------------------------------------------------------------------------------------------

    async def _check_topics(self, turn: JobTurn) -> JobReport | None:
        """Check the topics once, and run if there is work. Raises the errors of a run."""
        enough = 1 if turn.asked or self.due.is_overdue else self._config.min_leaves
        whole, self._tree_changed = self._tree_changed or turn.asked, False
        try:
            work = await self._compactor.find_pending(whole=whole)
            has_work = work.stale or work.improvable or work.is_untidy
            if has_work or work.fresh >= enough or "compaction" in self._health.faults:
                return await self._compact(work, turn)
        except Refused as error:  # the vault is read-only, or you have to confirm a mass deletion
            self._why_idle, self._tree_changed = error.message, True
            self.due.look_again(self._config.longest_wait_s)
            return None
        except BaseException:
            self._tree_changed = True
            raise
        if work.fresh and not work.without_vectors:
            self._why_idle = f"{counted(work.fresh, 'new note')}; filed when there are more"
            self._tree_changed |= work.provisional > 0
            self.due.put_off()
        else:
            self._wait_for(work)
        return None

    def _wait_for(self, work: PendingWork) -> None:
        """Set the reason for waiting, and the time of the next check without a change."""
        self._why_idle = NOTHING
        if work.provisional:
            self._why_idle = f"pages wait for the language model ({work.provisional})"
            self.due.look_again(self._compactor.fallback_pages.retry_in_s())
            self._tree_changed = True
        if work.without_vectors:
            self._why_idle = f"new notes have no vectors yet ({work.without_vectors}): {self._model.reason}"
            self.due.look_again(self._config.quiet_s if self._model.embedder else self._config.longest_wait_s)

    async def _compact(self, work: PendingWork, turn: JobTurn) -> JobReport | None:
        report = await self._compactor.run_in_background(turn.lull)
        if report is None:
            self._why_idle, self._tree_changed = HELD, True
            return None
        if report.failed:
            raise StorageFailed(report.failed[0])
        self._why_idle = NOTHING
        if report.cut:
            self._why_idle, self._tree_changed = "a command of yours came first", True
            self.due.look_again(self._config.quiet_s)
        elif report.given_up:  # notes changed in the meantime
            self._tree_changed = True
            self.due.look_again(self._config.longest_wait_s)
        else:
            self._wait_for(replace(work, provisional=work.provisional - work.improvable + len(report.provisional)))
        last = self._compactor.progress.last
        if not last or last.run != report.run:
            return None
        figures = {"jobs": len(report.done), "waiting": report.waiting}
        return JobReport(f"{last.about} (compaction {report.run})", last.changed, figures)
