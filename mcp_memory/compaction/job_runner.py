"""Runs jobs and undoes runs in worker threads, and updates the index after each step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from anyio import from_thread

from mcp_memory.compaction.execute_job import (
    SKIPPED_ERRORS,
    TouchedNotes,
    finish_jobs,
    folders_entered,
    pages_restored,
    remove_empty_folders,
    run_job,
    stoppable,
    undo_step,
)
from mcp_memory.compaction.journal import JobEntry, JobOutcome, RunJournal
from mcp_memory.compaction.run_report import RunReport
from mcp_memory.index.base import Index
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.vault import Vault

Pace = Callable[[], Awaitable[bool]]
"""Awaited before each job; False ends the run there."""

JOB_S = 600.0
"""Deadline for one job, or for those that a crash left."""


class JobRunner:
    """Not for concurrent use: the caller holds the run lock."""

    def __init__(
        self, vault: Vault, index: Index, indexer: Reconciler, journal: RunJournal, writer: IndexWriter
    ) -> None:
        self._vault = vault
        self._index = index
        self._indexer = indexer
        self._journal = journal
        self._writer = writer

    async def run_job(self, run: str, entry: JobEntry) -> None:
        """Raises as `carry_out`. If the caller stops waiting, the worker thread stops after its current step."""
        with stoppable(self._update_index_from_thread) as tell:
            async with self._indexer.paused():
                await in_thread(
                    lambda: run_job(self._vault, self._journal, run, entry, tell), deadline_s=JOB_S, what="filing"
                )

    async def finish_jobs(self) -> int:
        """Finish what a crash left undone; returns the number of jobs. Raises StorageFailed."""
        async with self._indexer.paused():
            return await in_thread(
                lambda: finish_jobs(self._vault, self._journal, self._update_index_from_thread),
                deadline_s=JOB_S,
                what="filing",
            )

    async def undo_run(self, run: str) -> RunReport:
        """Undo a run's jobs, the latest first, and hold background runs. What has changed since stays and is named in
        the report. Raises NotFound, StorageFailed."""
        report = RunReport(run)
        entries = await in_thread(lambda: self._journal.read_run(run), what="reading the journal")
        await in_thread(self._journal.hold, what="the journal")
        pages = pages_restored(step for entry in entries for step in entry.steps)
        for entry in reversed([job for job in entries if job.outcome in {JobOutcome.DONE, JobOutcome.ANNOUNCED}]):
            report.left += await self._undo_job(entry, pages)
            await in_thread(
                lambda entry=entry: self._journal.end_job(run, entry.key, JobOutcome.UNDONE), what="the journal"
            )
            report.done.append(entry.about)
        entered = {folder for entry in entries for folder in folders_entered(entry)}
        await in_thread(lambda: remove_empty_folders(self._vault, entered), what="removing folders")
        return report

    async def _undo_job(self, entry: JobEntry, pages: Mapping[str, str]) -> list[str]:
        """Undo all steps of a job, the latest first; returns why some could not be undone. `pages` as for `take_back`.
        Raises StorageFailed; calling it again does the rest."""
        left: list[str] = []
        async with self._indexer.paused():
            for step in reversed(entry.steps):
                try:
                    touched = await in_thread(
                        lambda step=step: undo_step(step, self._vault, self._index, pages), what="taking a step back"
                    )
                    await self._update_index(touched)
                except SKIPPED_ERRORS as error:
                    left.append(error.message)
        return left

    async def _update_index(self, touched: TouchedNotes) -> None:
        """Index what a step touched, so that answers follow the files at once. Raises IndexUnavailable."""
        for file in touched.files:
            await self._writer.index_note(file)
        for path in touched.removed:
            await self._writer.remove_deleted(path)

    def _update_index_from_thread(self, touched: TouchedNotes) -> None:
        from_thread.run(self._update_index, touched)
