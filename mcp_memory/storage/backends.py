"""Storage back ends by name."""

from __future__ import annotations

from pathlib import Path

from mcp_memory.runtime.backend_registry import Registry
from mcp_memory.storage.base import StorageBackend

STORAGE = Registry("storage", {"filesystem": "mcp_memory.storage.filesystem:FilesystemBackend"})
"""Name → a function `(root, *, locks, read_only) -> StorageBackend`; others through the group `mcp_memory.storage`."""


def open_storage(
    root: Path, *, name: str = "filesystem", locks: Path | None = None, read_only: bool = False
) -> StorageBackend:
    """The files below `root`. Every process that writes there is given the same folder `locks`, outside of it.

    Raises ConfigInvalid for an unknown name, ExtraMissing, and what resolving the path raises.
    """
    return STORAGE.get(name)(root, locks=locks, read_only=read_only)
