"""Clean up the files that a crash may leave behind: restore them, remove them if their bytes are known, or report them.

A hidden file is ours only if its name has our form; no other file is touched.
"""

import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import NotePath, Problem
from mcp_memory.runtime.atomic_rename import KernelRenames, exists, move_free, sync
from mcp_memory.runtime.os_errors import reason
from mcp_memory.storage.folders import etag_of_file, opened_file, opened_folder
from mcp_memory.storage.listing import list_notes
from mcp_memory.storage.locks import PathLocks
from mcp_memory.storage.temp_files import SUFFIX, TempName
from mcp_memory.text.escape_invisible import printable


@dataclass(frozen=True, slots=True)
class LeftoverSweep:
    """The result of a sweep. `removed` files had known bytes. `restored` files got their names back. Check the `kept`
    files yourself."""

    removed: list[str] = field(default_factory=list[str])
    restored: list[NotePath] = field(default_factory=list[NotePath])
    kept: list[Problem] = field(default_factory=list[Problem])


def sweep(root: int, renames: KernelRenames, locks: PathLocks, min_age_s: float) -> LeftoverSweep:
    """Handle every leftover below the open root that is older than `min_age_s` and not in use."""
    sweeper = _Sweeper(renames, locks, min_age_s)
    for path in list_notes(root, None).folders:
        # The listing reports a folder that has gone or cannot be opened.
        with suppress(McpMemoryError, OSError), opened_folder(root, path) as folder:
            sweeper.sweep_folder(folder, f"{path}/" if path else "")
    return sweeper.swept


@dataclass(frozen=True, slots=True)
class _Sweeper:
    renames: KernelRenames
    locks: PathLocks
    min_age_s: float
    swept: LeftoverSweep = field(default_factory=LeftoverSweep)

    def sweep_folder(self, folder: int, prefix: str) -> None:
        """Handle the leftovers in one open folder; `prefix` is its path with a trailing slash."""
        for name in os.listdir(folder):
            label = TempName.parse(name) if name.endswith(SUFFIX) else None
            if label is None:
                continue
            try:
                self._settle(folder, prefix, name, label)
            except McpMemoryError as error:
                self.swept.kept.append(Problem(printable(prefix + name), error.message))
            except OSError as error:
                self.swept.kept.append(Problem(printable(prefix + name), f"could not be checked: {reason(error)}"))

    def _settle(self, folder: int, prefix: str, name: str, label: TempName) -> None:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if abs(time.time() - found.st_ctime) < self.min_age_s:
            return
        if label.was and self._was_restored(folder, prefix, name, label.was):
            self.swept.restored.append(NotePath(prefix + label.was))
            return
        with opened_file(folder, name, prefix + name) as (descriptor, _):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            # A new file's draft may have been cut off before its first byte.
            is_unbegun = label.old is None and os.fstat(descriptor).st_size == 0
            if label.names_bytes(etag_of_file(descriptor)) or is_unbegun:
                os.unlink(name, dir_fd=folder)
                self.swept.removed.append(printable(prefix + name))
            else:
                what = "left by an interrupted write; its bytes are unknown and may be an editor's save"
                self.swept.kept.append(Problem(printable(prefix + name), what))

    def _was_restored(self, folder: int, prefix: str, name: str, was: str) -> bool:
        """Rename a file that was put aside to its old name if that is free. The lock excludes a concurrent write."""
        with self.locks.hold(prefix + was):
            if exists(folder, was):
                return False
            with suppress(FileExistsError):
                move_free(self.renames, folder, name, folder, was)
                sync(folder)
                return True
        return False
