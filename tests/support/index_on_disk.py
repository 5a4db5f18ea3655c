"""The index that an engine is at work on, read from its file."""

from __future__ import annotations

from pathlib import Path

from mcp_memory.index.sqlite.database import Database
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex


class IndexOnDisk(SqliteIndex):
    """Only reads rows: the caches beside the file are its engine's."""

    def __init__(self, state: Path) -> None:
        self.database = Database(state / "index" / "index.db", lambda: None)

    @property
    def active(self) -> int:
        """The number of the generation that answers."""
        return next(generation.number for generation in self.generations() if generation.active)

    def close(self) -> None:
        self.database.close()
