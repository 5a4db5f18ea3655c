"""Ways to give a file a name, strictest first.

A file system that lacks a call (FUSE without EXCHANGE, exFAT without links) answers with one of `REFUSALS`.
"""

import ctypes
import errno
import fcntl
import os
import sys
from collections.abc import Callable
from contextlib import suppress

REFUSALS = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})
"""The errors of a file system for a call that it lacks. EPERM: hard links on FAT and exFAT."""


class KernelRenames:
    """`renameat2` on Linux, `renameatx_np` on macOS; elsewhere both special forms answer ENOSYS.

    Each call works on names inside open folders, follows no link, and raises OSError."""

    def __init__(self) -> None:
        self._call, self._exclusive, self._swap = _special_rename()

    def exchange(self, folder: int, a: str, b: str) -> None:
        """Swap two existing names in one step. Raises FileNotFoundError if either is missing."""
        self._special(folder, a, folder, b, self._swap)

    def rename_free(self, source_folder: int, source: str, target_folder: int, target: str) -> None:
        """Rename onto a free name in one step. Raises FileExistsError."""
        self._special(source_folder, source, target_folder, target, self._exclusive)

    def link(self, folder: int, source: str, target: str) -> None:
        """Give a file a second name. Raises FileExistsError."""
        os.link(source, target, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)

    def rename(self, source_folder: int, source: str, target_folder: int, target: str) -> None:
        """Rename, over an existing file if there is one."""
        os.rename(source, target, src_dir_fd=source_folder, dst_dir_fd=target_folder)

    def _special(self, source_folder: int, source: str, target_folder: int, target: str, flag: int) -> None:
        if self._call is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        if self._call(source_folder, os.fsencode(source), target_folder, os.fsencode(target), flag) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), source, None, target)


def publish_free(renames: KernelRenames, folder: int, source: str, target: str) -> None:
    """Give a hidden `source` the free name `target`. Raises FileExistsError, and then both are as they were.

    The strictest way comes first: a rename without replacing. The second is a hard link, after which the old name is
    removed. The last is to check and rename, the only way with a gap in which another program's new file could be
    replaced."""
    if is_supported(lambda: renames.rename_free(folder, source, folder, target)):
        return
    if is_supported(lambda: renames.link(folder, source, target)):
        # The file has its name. A source name that can't be removed is a leftover with known bytes: swept later.
        with suppress(OSError):
            os.unlink(source, dir_fd=folder)
    else:
        _rename_if_free(renames, folder, source, folder, target)


def move_free(renames: KernelRenames, source_folder: int, source: str, target_folder: int, target: str) -> None:
    """Move a file between folders to a free name, as `publish_free` does, but never by link and unlink: a crash would
    show the file twice."""
    if not is_supported(lambda: renames.rename_free(source_folder, source, target_folder, target)):
        _rename_if_free(renames, source_folder, source, target_folder, target)


def is_supported(call: Callable[[], None]) -> bool:
    """Make the call; False if the file system lacks it. Raises OSError for any other failure."""
    try:
        call()
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        return False
    return True


def exists(folder: int, name: str) -> bool:
    """Return whether the folder has an entry of that name, even a dangling link."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _rename_if_free(renames: KernelRenames, source_folder: int, source: str, target_folder: int, target: str) -> None:
    if exists(target_folder, target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    renames.rename(source_folder, source, target_folder, target)


def _special_rename() -> tuple[Callable[[int, bytes, int, bytes, int], int] | None, int, int]:
    """Return the C function with its flags for "do not replace" and "exchange" (linux/fs.h; macOS sys/stdio.h)."""
    library = ctypes.CDLL(None, use_errno=True)
    name, exclusive, swap = ("renameatx_np", 4, 2) if sys.platform == "darwin" else ("renameat2", 1, 2)
    function = getattr(library, name, None)
    if function is not None:
        function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
        function.restype = ctypes.c_int
    return function, exclusive, swap


def sync(descriptor: int) -> None:
    """Fsync, down to the platter: macOS needs its own call for that, which its network file systems lack."""
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError as error:
            if error.errno not in {*REFUSALS, errno.ENOTTY}:
                raise
    os.fsync(descriptor)
