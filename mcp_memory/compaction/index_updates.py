"""Telling: the index hears of each step at once, so that answers follow the files."""

from __future__ import annotations

from anyio import from_thread

from mcp_memory.compaction.apply_step import TouchedNotes
from mcp_memory.indexing.writer import IndexWriter


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
