"""Runs jobs and undoes runs in worker threads, and updates the index after each step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from anyio import from_thread

from mcp_memory.compaction.execute_job import (
    PASSED_OVER,
    TouchedNotes,
    carry_out,
    finish,
    folders_reached,
    remove_empty,
    returning,
    stoppable,
    take_back,
)
from mcp_memory.compaction.journal import JobEntry, JobOutcome, RunJournal
from mcp_memory.compaction.report import RunReport
from mcp_memory.index.base import Index
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.vault import Vault

Pace = Callable[[], Awaitable[bool]]
"""Awaited before each job; False ends the run there."""

JOB_S = 600.0
"""For filing one job, or those that a crash left."""


class JobRunner:
    """To be used by one at a time."""

    def __init__(
        self, vault: Vault, index: Index, indexer: Reconciler, journal: RunJournal, telling: IndexUpdates
    ) -> None:
        self._vault = vault
        self._index = index
        self._indexer = indexer
        self._journal = journal
        self._telling = telling

    async def carry_out(self, run: str, entry: JobEntry) -> None:
        """Raises as `carry_out`. Nobody waits for a thread that files on by itself: it ends with the step that is under
        way."""
        with stoppable(self._telling.from_thread) as tell:
            async with self._indexer.still():
                await in_thread(
                    lambda: carry_out(self._vault, self._journal, run, entry, tell), deadline_s=JOB_S, what="filing"
                )

    async def finish(self) -> int:
        """Do what a crash left undone; how many jobs that were. Raises StorageFailed."""
        async with self._indexer.still():
            return await in_thread(
                lambda: finish(self._vault, self._journal, self._telling.from_thread), deadline_s=JOB_S, what="filing"
            )

    async def take_back(self, entry: JobEntry, pages: Mapping[str, str]) -> list[str]:
        """All of a job's steps, the latest first; what could not be taken back, and why. `pages` as for `take_back`.
        Raises StorageFailed: the same call again does the rest."""
        left: list[str] = []
        async with self._indexer.still():
            for step in reversed(entry.steps):
                try:
                    touched = await in_thread(
                        lambda step=step: take_back(step, self._vault, self._index, pages), what="taking a step back"
                    )
                    await self._telling.update(touched)
                except PASSED_OVER as error:
                    left.append(error.message)
        return left


class IndexUpdates:
    """Raises IndexUnavailable."""

    def __init__(self, writer: IndexWriter) -> None:
        self._writer = writer

    async def update(self, touched: TouchedNotes) -> None:
        for file in touched.files:
            await self._writer.index_note(file)
        for path in touched.gone:
            await self._writer.take_out(path)

    def from_thread(self, touched: TouchedNotes) -> None:
        """For a worker thread."""
        from_thread.run(self.update, touched)


class RunUndo:
    """To be used alone: the caller sees to it that nobody files meanwhile."""

    def __init__(self, vault: Vault, journal: RunJournal, carrier: JobRunner) -> None:
        self._vault = vault
        self._journal = journal
        self._carrier = carrier

    async def undo(self, run: str) -> RunReport:
        """What could not be taken back is named; no run in the background does it again. Raises NotFound,
        StorageFailed."""
        report = RunReport(run)
        entries = await in_thread(lambda: self._journal.entries(run), what="reading the journal")
        await in_thread(self._journal.hold, what="the journal")
        pages = returning(step for entry in entries for step in entry.steps)
        for entry in reversed([each for each in entries if each.fate in {JobOutcome.DONE, JobOutcome.ANNOUNCED}]):
            report.left += await self._carrier.take_back(entry, pages)
            await in_thread(
                lambda entry=entry: self._journal.end(run, entry.key, JobOutcome.UNDONE), what="the journal"
            )
            report.done.append(entry.about)
        left = {folder for entry in entries for folder in folders_reached(entry)}
        await in_thread(lambda: remove_empty(self._vault, left), what="removing folders")
        return report
