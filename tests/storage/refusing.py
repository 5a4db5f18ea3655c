"""File systems that lack some of the strict calls, as FUSE, exFAT and network mounts do."""

from __future__ import annotations

import errno
import os

from mcp_memory.runtime.atomic_rename import KernelRenames

LACKS = [("exchange",), ("exchange", "rename_free"), ("exchange", "rename_free", "link"), ("rename_free",)]


class RefusingRenames(KernelRenames):
    """The kernel's calls, but these are answered as by a file system that does not have them."""

    def __init__(self, *lacks: str) -> None:
        super().__init__()
        self._lacks = lacks

    def exchange(self, folder, a, b):
        self._refuse("exchange", errno.EINVAL)
        super().exchange(folder, a, b)

    def rename_free(self, source_folder, source, target_folder, target):
        self._refuse("rename_free", errno.EINVAL)
        super().rename_free(source_folder, source, target_folder, target)

    def link(self, folder, source, target):
        self._refuse("link", errno.EPERM)
        super().link(folder, source, target)

    def _refuse(self, call: str, code: int) -> None:
        if call in self._lacks:
            raise OSError(code, os.strerror(code))
