"""What a crash may leave behind, and what becomes of it: put back, swept because its bytes are known, or kept.

A hidden file is ours only if its name has our form; no other file is touched, be it called `.tmp` a hundred times.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import NotePath, Problem
from mcp_memory.runtime.os_errors import reason
from mcp_memory.runtime.renames import KernelRenames, exists, move_free, sync
from mcp_memory.storage.folders import etag_of, opened_file
from mcp_memory.storage.listing import walk_folders
from mcp_memory.storage.locks import PathLocks
from mcp_memory.storage.temp_names import SUFFIX, TempName
from mcp_memory.text.escape_invisible import printable


@dataclass(frozen=True, slots=True)
class LeftoverSweep:
    """`removed` held known bytes. `restored` got its name back. `kept` needs a person's eye."""

    removed: list[str] = field(default_factory=list[str])
    restored: list[NotePath] = field(default_factory=list[NotePath])
    kept: list[Problem] = field(default_factory=list[Problem])


def sweep(root: int, renames: KernelRenames, locks: PathLocks, min_age_s: float) -> LeftoverSweep:
    """Looks at every leftover below the open root that is older than `min_age_s` and in nobody's use."""
    swept = LeftoverSweep()

    def look(folder: int, prefix: str) -> None:
        for name in os.listdir(folder):
            if not name.endswith(SUFFIX):
                continue
            label = TempName.parse(name)
            if label is None:
                continue
            try:
                _settle_one(folder, prefix, name, label)
            except McpMemoryError as error:
                swept.kept.append(Problem(printable(prefix + name), error.message))
            except OSError as error:
                swept.kept.append(Problem(printable(prefix + name), f"not looked at: {reason(error)}"))

    def _settle_one(folder: int, prefix: str, name: str, label: TempName) -> None:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if abs(time.time() - found.st_ctime) < min_age_s:
            return
        if label.was and _restored(folder, prefix, name, label.was):
            swept.restored.append(NotePath(prefix + label.was))
            return
        with opened_file(folder, name, prefix + name) as (descriptor, _):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            if label.names_bytes(etag_of(descriptor)) or _is_unbegun(label, os.fstat(descriptor).st_size):
                os.unlink(name, dir_fd=folder)
                swept.removed.append(printable(prefix + name))
            else:
                what = "left by an interrupted write; its bytes are unknown and may be somebody's save"
                swept.kept.append(Problem(printable(prefix + name), what))

    def _restored(folder: int, prefix: str, name: str, was: str) -> bool:
        """Gives a file that was put aside its name back if that is free. The lock keeps out a write under way."""
        with locks.hold(prefix + was):
            if exists(folder, was):
                return False
            with suppress(FileExistsError):
                move_free(renames, folder, name, folder, was)
                sync(folder)
                return True
        return False

    walk_folders(root, look)
    return swept


def _is_unbegun(label: TempName, size: int) -> bool:
    """Whether it was to become a new file and was killed before its first byte."""
    return label.old is None and size == 0
