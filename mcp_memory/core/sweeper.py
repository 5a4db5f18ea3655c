"""Sweeps the vault: brings the index up to date with the files, then runs the follow-up work."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio

from mcp_memory.core.serializers import Payload
from mcp_memory.errors import IndexUnavailable
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.indexing.watcher import SweepResult
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.runtime.health import Health, IdleDetector
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.vault.config import TRANSCRIPTS
from mcp_memory.vault.vault import Vault


class Sweeper:
    """Sweeps when the watcher or a command asks for it. `listeners` are called after each of the watcher's sweeps."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        writer: IndexWriter,
        reconciler: Reconciler,
        conflicts: ConflictScan,
        model: EmbedderLifecycle,
        health: Health,
        idle_detector: IdleDetector,
    ) -> None:
        self._vault = vault
        self._index = index
        self._writer = writer
        self._reconciler = reconciler
        self._conflicts = conflicts
        self._model = model
        self._health = health
        self._idle_detector = idle_detector
        self.listeners: list[Callable[[], Awaitable[None]]] = []
        self.swept = anyio.Event()
        """Set once the first sweep was tried."""

    async def sweep(self) -> SweepResult | None:
        """Sweep for the watcher. Returns None if the sweep failed, and `problems` says why."""
        try:
            with self._health.watching("sweep"):
                swept = await self._reconciler.reconcile()
                with self._idle_detector.behind():
                    await self._conflicts.scan()
                await self.tidy()
                self._model.wake()
                for listener in self.listeners:
                    await listener()
                watched = {  # without the captured sessions, which only we write
                    self._vault.absolute(folder): signature
                    for folder, signature in swept.folders.items()
                    if not folder.startswith(f"@{TRANSCRIPTS}")
                }
                return SweepResult(watched, swept.changed + swept.gone)
        finally:
            self.swept.set()
        return None

    async def reconcile(self) -> Payload:
        """Sweep for a command; return how many notes exist, have changed and are gone."""
        swept = await self._reconciler.reconcile()
        await self._conflicts.scan()
        await self.tidy()
        self._model.wake()
        return {"notes": swept.files, "changed": swept.changed, "gone": swept.gone, "seconds": round(swept.took_s, 3)}

    async def reindex(self) -> Payload:
        """Read every file again and index the files that differ from the indexed version. Only texts without a cached
        vector are embedded."""
        self._writer.reread_all_later()
        swept = await self._reconciler.reconcile()
        embedded = await self._model.embed()
        counts = {"notes": swept.files, "reindexed": swept.changed, "embedded": embedded}
        return {**counts, "seconds": round(swept.took_s, 3)}

    async def accept_loss(self) -> int:
        """Remove vanished notes from the index, and restore a folder's lost marker. Return how many notes were
        removed."""
        await in_thread(self._vault.accept, deadline_s=30, what="writing the marker")
        return await self._reconciler.accept_loss()

    async def tidy(self) -> None:
        """Check displaced and shared files again, and drop the bytes that no restore needs."""

        def tidy() -> None:
            self._vault.ledger.put_back()
            self._vault.backend.settle()
            self._vault.shared.compare()
            if not self._reconciler.pruning_paused:
                etags = self._writer.indexed_etags
                self._vault.tombstones.prune(set(etags.values()), etags.keys(), self._vault.clock().date())
            with suppress(IndexUnavailable):  # the next sweep tries again
                self._index.cut_log()

        await in_thread(tidy, deadline_s=60, what="looking after the vault")
