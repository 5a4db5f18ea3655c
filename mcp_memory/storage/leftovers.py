"""Cleans up what a crash may leave behind: restores it, removes it if its bytes are known, or reports it.

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
from mcp_memory.storage.folders import etag_of, opened_file, opened_folder
from mcp_memory.storage.listing import list_notes
from mcp_memory.storage.locks import PathLocks
from mcp_memory.storage.temp_files import SUFFIX, TempName
from mcp_memory.text.escape_invisible import printable


@dataclass(frozen=True, slots=True)
class LeftoverSweep:
    """`removed` held known bytes. `restored` got its name back. `kept` is for you to check."""

    removed: list[str] = field(default_factory=list[str])
    restored: list[NotePath] = field(default_factory=list[NotePath])
    kept: list[Problem] = field(default_factory=list[Problem])


def sweep(root: int, renames: KernelRenames, locks: PathLocks, min_age_s: float) -> LeftoverSweep:
    """Handle every leftover below the open root that is older than `min_age_s` and not in use."""
    swept = LeftoverSweep()

    def settle_one(folder: int, prefix: str, name: str, label: TempName) -> None:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if abs(time.time() - found.st_ctime) < min_age_s:
            return
        if label.was and was_restored(folder, prefix, name, label.was):
            swept.restored.append(NotePath(prefix + label.was))
            return
        with opened_file(folder, name, prefix + name) as (descriptor, _):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            # A new file's draft may have been cut off before its first byte.
            is_unbegun = label.old is None and os.fstat(descriptor).st_size == 0
            if label.names_bytes(etag_of(descriptor)) or is_unbegun:
                os.unlink(name, dir_fd=folder)
                swept.removed.append(printable(prefix + name))
            else:
                what = "left by an interrupted write; its bytes are unknown and may be an editor's save"
                swept.kept.append(Problem(printable(prefix + name), what))

    def was_restored(folder: int, prefix: str, name: str, was: str) -> bool:
        """Give a file that was put aside its name back if the name is free. The lock keeps out a write under way."""
        with locks.hold(prefix + was):
            if exists(folder, was):
                return False
            with suppress(FileExistsError):
                move_free(renames, folder, name, folder, was)
                sync(folder)
                return True
        return False

    for path in list_notes(root, None).folders:
        # A folder that has gone or cannot be opened is the listing's to report.
        with suppress(McpMemoryError, OSError), opened_folder(root, path) as folder:
            prefix = f"{path}/" if path else ""
            for name in os.listdir(folder):  # noqa: PTH208 -- a descriptor
                label = TempName.parse(name) if name.endswith(SUFFIX) else None
                if label is None:
                    continue
                try:
                    settle_one(folder, prefix, name, label)
                except McpMemoryError as error:
                    swept.kept.append(Problem(printable(prefix + name), error.message))
                except OSError as error:
                    swept.kept.append(Problem(printable(prefix + name), f"could not be checked: {reason(error)}"))
    return swept
