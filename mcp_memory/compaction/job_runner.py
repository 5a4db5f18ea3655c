"""The carrier: brings jobs to disk whole, or not at all, or leaves them to the next start; and takes them back."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_memory.compaction.execute_job import PASSED_OVER, carry_out, finish, stoppable
from mcp_memory.compaction.index_updates import IndexUpdates
from mcp_memory.compaction.journal import JobEntry, RunJournal
from mcp_memory.compaction.undo import take_back
from mcp_memory.index.base import Index
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.vault import Vault

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
