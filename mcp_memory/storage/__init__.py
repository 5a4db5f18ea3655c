"""Files by relative path, with atomic, durable, compare-and-swap verbs.

Knows nothing of Markdown. Keeps invariants 1, 2, 3 and 9: an answered write survives power loss, no other program's
bytes are overwritten, nothing outside the root is touched.
"""

import traceback
from pathlib import Path
from typing import Any

from mcp_memory.errors import McpMemoryError, StorageFailed
from mcp_memory.runtime.backend_registry import Registry
from mcp_memory.storage.base import StorageBackend

STORAGE = Registry("storage", {"filesystem": "mcp_memory.storage.filesystem:FilesystemBackend"})
"""Name → a function `(root, *, locks, read_only) -> StorageBackend`; others through the group `mcp_memory.storage`."""


def open_storage(
    root: Path, *, name: str = "filesystem", locks: Path | None = None, read_only: bool = False
) -> StorageBackend:
    """Open the files below `root`. Every process that writes there must use the same folder `locks`, outside of it.

    Raises ConfigInvalid for an unknown name, ExtraMissing, StorageFailed for a fault of another package, and the errors
    of resolving the path."""
    opener = STORAGE.get(name)
    if name not in STORAGE.builtins:
        opener = _Foreign(opener)
    return opener(root, locks=locks, read_only=read_only)


class _Foreign:
    """A back end of another package, or the function that opens it: each fault of a call becomes StorageFailed."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __call__(self, *given: Any, **named: Any) -> Any:
        try:
            found = self._wrapped(*given, **named)
        except McpMemoryError:
            raise
        except Exception as error:  # any error, since the package is somebody else's
            line = traceback.extract_tb(error.__traceback__)[:2][-1]  # below ours, the package's own
            raise StorageFailed(
                f"the storage of another package failed: {type(error).__name__} at {line.filename}:{line.lineno}",
                hint='mend it, or set vault.storage = "filesystem"; what it wrote may be there: try again',
            ) from error
        return _Foreign(found) if isinstance(found, StorageBackend) else found

    def __getattr__(self, verb: str) -> Any:
        found = getattr(self._wrapped, verb)
        return _Foreign(found) if callable(found) else found
