"""The reversal of a run: its steps taken back, the latest first; what somebody changed since stays as it is."""

from __future__ import annotations

from mcp_memory.engine.compaction.carrying import folders_reached, remove_empty
from mcp_memory.engine.compaction.doing import Touched, undo
from mcp_memory.engine.compaction.forgotten import quotes_forgotten
from mcp_memory.engine.compaction.journal import Fate, RunJournal
from mcp_memory.engine.compaction.report import Report
from mcp_memory.engine.compaction.steps import Step, Write
from mcp_memory.engine.compaction.telling import Telling
from mcp_memory.engine.indexer import Indexer
from mcp_memory.engine.threads import in_thread
from mcp_memory.engine.vault import Vault
from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.index.base import Index


class Reversal:
    """To be used alone: the caller sees to it that nobody files meanwhile."""

    def __init__(self, vault: Vault, index: Index, indexer: Indexer, journal: RunJournal, telling: Telling) -> None:
        self._vault = vault
        self._index = index
        self._indexer = indexer
        self._journal = journal
        self._telling = telling

    async def of(self, run: str) -> Report:
        """What could not be taken back is named; no run in the background does it again. Raises NotFound,
        StorageFailed."""
        report = Report(run)
        entries = await in_thread(lambda: self._journal.entries(run), what="reading the journal")
        await in_thread(self._journal.hold, what="the journal")
        for entry in reversed([each for each in entries if each.fate in {Fate.DONE, Fate.ANNOUNCED}]):
            async with self._indexer.still():
                for step in reversed(entry.steps):
                    await self._take_back(step, report)
            await in_thread(lambda entry=entry: self._journal.end(run, entry.key, Fate.UNDONE), what="the journal")
            report.done.append(entry.about)
        left = {folder for entry in entries for folder in folders_reached(entry)}
        await in_thread(lambda: remove_empty(self._vault, left), what="removing folders")
        return report

    async def _take_back(self, step: Step, report: Report) -> None:
        try:
            await self._telling.tell(await in_thread(lambda: self._undone(step), what="taking a step back"))
        except McpMemoryError as error:
            report.left.append(error.message)

    def _undone(self, step: Step) -> Touched:
        if isinstance(step, Write) and step.before and quotes_forgotten(step.before, self._vault, self._index):
            raise Refused(f"{step.path} told of a note that is forgotten by now: it stays as it is")
        return undo(step, self._vault)
