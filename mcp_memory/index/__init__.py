"""The index: what search needs of every note, derived from the files, device-local, disposable.

Imports storage, embedders, text and what stands below. Keeps invariants 4, 5 and 6: it equals one rebuilt from
scratch, deleting it loses nothing, every chunk is an exact slice of its file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_memory.registry import Registry

if TYPE_CHECKING:
    from mcp_memory.index.base import Index

INDEXES: Final = Registry("index", {"sqlite": "mcp_memory.index.sqlite:SqliteIndex"})


def open_index(name: str, folder: Path) -> Index:
    """The engine called `name` over `folder`, which is made if need be.

    Raises ConfigInvalid for an unknown name, ExtraMissing, and IndexUnavailable.
    """
    return INDEXES.get(name)(folder)
