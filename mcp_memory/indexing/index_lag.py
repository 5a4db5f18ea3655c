"""Staleness: why an answer as a whole may not know the latest files; of single files `freshness` knows."""

from __future__ import annotations

from mcp_memory.indexing.reconciler import READING, Reconciler
from mcp_memory.indexing.watcher import Watcher
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.runtime.health import Health
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.vault import Vault


class IndexLag:
    def __init__(
        self, vault: Vault, indexer: Reconciler, writer: IndexWriter, watcher: Watcher, health: Health
    ) -> None:
        self._vault = vault
        self._writer = writer
        self._indexer = indexer
        self._watcher = watcher
        self._health = health

    def is_lost(self) -> bool:
        """Whether notes that are not on disk are kept in the index until they are back or a person agrees."""
        return self._vault.is_away or self._indexer.pruning_paused is not None

    def describe(self) -> str | None:
        """For the answer; None where it knows all."""
        if self._indexer.pruning_paused:
            return f"{self._indexer.pruning_paused}: answers come from the last good index (see mcp-memory doctor)"
        if self._indexer.replaced:
            self._watcher.hurry()
            return "the index was damaged and is being rebuilt from the files"
        if fault := self._health.faults.get("sweep") or self._health.faults.get("index"):
            return f"the latest changes may be missing: {fault.reason}"
        behind = self._behind()
        if self._indexer.last is None:
            return f"the first sweep of the vault is not finished{f': {behind}' if behind else ''}"
        return "; ".join(filter(None, (behind, self._unread()))) or None

    def _behind(self) -> str | None:
        """A sweep with much to read; what little one reads is there before anybody could look."""
        now = self._health.progress
        if now.phase != READING or now.done >= now.total:
            return None
        return f"{counted(now.total - now.done, 'file')} may be newer than the index and are being read"

    def _unread(self) -> str | None:
        """Their names are data, not words of ours: `doctor` tells them."""
        unread = sum(problem.unread for problem in self._writer.problems.values())
        if not unread:
            return None
        return f"{counted(unread, 'file')} could not be read and may be newer than the index (see mcp-memory doctor)"
