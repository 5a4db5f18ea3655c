"""Files by relative path, with atomic, durable, compare-and-swap verbs.

Knows nothing of Markdown. Keeps invariants 1, 2, 3 and 9: an answered write survives power loss, no other program's
bytes are overwritten, nothing outside the root is touched.
"""

from pathlib import Path

from mcp_memory.runtime.backend_registry import Registry
from mcp_memory.storage.base import StorageBackend

STORAGE = Registry("storage", {"filesystem": "mcp_memory.storage.filesystem:FilesystemBackend"})
"""Name → a function `(root, *, locks, read_only) -> StorageBackend`; others through the group `mcp_memory.storage`."""


def open_storage(
    root: Path, *, name: str = "filesystem", locks: Path | None = None, read_only: bool = False
) -> StorageBackend:
    """Open the files below `root`. Every process that writes there must use the same folder `locks`, outside of it.

    Raises ConfigInvalid for an unknown name, ExtraMissing, and the errors of resolving the path."""
    return STORAGE.get(name)(root, locks=locks, read_only=read_only)
