"""The reversal of a run: its jobs taken back, the latest first; what somebody changed since stays as it is."""

from __future__ import annotations

from mcp_memory.compaction.execute_job import folders_reached, remove_empty
from mcp_memory.compaction.job_runner import Carrier
from mcp_memory.compaction.journal import Fate, RunJournal
from mcp_memory.compaction.report import Report
from mcp_memory.compaction.undo import returning
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.vault import Vault


class Reversal:
    """To be used alone: the caller sees to it that nobody files meanwhile."""

    def __init__(self, vault: Vault, journal: RunJournal, carrier: Carrier) -> None:
        self._vault = vault
        self._journal = journal
        self._carrier = carrier

    async def of(self, run: str) -> Report:
        """What could not be taken back is named; no run in the background does it again. Raises NotFound,
        StorageFailed."""
        report = Report(run)
        entries = await in_thread(lambda: self._journal.entries(run), what="reading the journal")
        await in_thread(self._journal.hold, what="the journal")
        pages = returning(step for entry in entries for step in entry.steps)
        for entry in reversed([each for each in entries if each.fate in {Fate.DONE, Fate.ANNOUNCED}]):
            report.left += await self._carrier.take_back(entry, pages)
            await in_thread(lambda entry=entry: self._journal.end(run, entry.key, Fate.UNDONE), what="the journal")
            report.done.append(entry.about)
        left = {folder for entry in entries for folder in folders_reached(entry)}
        await in_thread(lambda: remove_empty(self._vault, left), what="removing folders")
        return report
