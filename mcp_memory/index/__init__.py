"""The derived search index: local to the device and disposable.

`base` is the port that an engine implements, `sqlite` the engine in the package. Keeps invariants 4, 5 and 6: it equals
one rebuilt from scratch, deleting it loses nothing, every chunk is an exact slice of its file.
"""

from dataclasses import dataclass
from typing import Final

from mcp_memory.runtime.backend_registry import Registry

INDEXES: Final = Registry("index", {"sqlite": "mcp_memory.index.sqlite.sqlite_index:SqliteIndex"})
"""Name → a function `(folder) -> Index`; other packages add theirs by the entry point group `mcp_memory.index`."""


@dataclass(frozen=True)
class IndexConfig:
    """The index engine."""

    engine: str = "sqlite"
    """A name of `INDEXES`."""
