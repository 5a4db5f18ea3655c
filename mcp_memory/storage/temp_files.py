"""Our new bytes on their way to a name: complete and durable under a hidden name in the target's own folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress

from mcp_memory.runtime.renames import sync

NEW_FILE_MODE = 0o600
"""Notes are private; a person who wants to share them changes the mode, which replacing keeps."""


@contextmanager
def temp(folder: int, hidden: str, data: bytes, mode: int, group: int | None = None) -> Generator[int]:
    """A new hidden file with these bytes, durable, open and locked against a sweep of leftovers.

    If writing or fsync fails the file is dropped, and fsync is never tried again on it: Linux has dropped the dirty
    pages, so a second fsync would succeed without them.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(hidden, flags, NEW_FILE_MODE, dir_fd=folder)
    try:
        try:
            # Not every file system has locks; the sweep also looks at the age.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if group is not None and group != os.fstat(descriptor).st_gid:
                os.fchown(descriptor, -1, group)
            if mode != NEW_FILE_MODE:
                os.fchmod(descriptor, mode)
            _write_all(descriptor, data)
            sync(descriptor)
        except OSError:
            discard(folder, hidden, descriptor)
            raise
        yield descriptor
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def discard(folder: int, hidden: str, descriptor: int) -> None:
    """Takes away our own temp. One that cannot be is a leftover: swept later.

    Only if the name still is that file: a network file system may answer with an error after it did the exchange, and
    then the displaced file is there.
    """
    with suppress(OSError):
        if os.path.samestat(os.stat(hidden, dir_fd=folder, follow_symlinks=False), os.fstat(descriptor)):
            os.unlink(hidden, dir_fd=folder)
