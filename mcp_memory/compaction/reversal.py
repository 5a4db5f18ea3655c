"""The reversal of a run: its jobs taken back, the latest first; what somebody changed since stays as it is."""

from __future__ import annotations

from mcp_memory.compaction.execute_job import folders_reached, remove_empty
from mcp_memory.compaction.job_runner import JobRunner
from mcp_memory.compaction.journal import JobOutcome, RunJournal
from mcp_memory.compaction.report import RunReport
from mcp_memory.compaction.undo import returning
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.vault import Vault


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
