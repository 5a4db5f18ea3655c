"""Turns the file system's refusals into errors with a remedy."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

from mcp_memory.errors import StorageFailed
from mcp_memory.text.escape_invisible import printable

_CAUSES: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", "free some space and try again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space or raise the quota, then try again"),
    errno.EROFS: ("the file system is read-only", "mount it writable; after a disk error Linux mounts it read-only"),
    errno.EIO: ("the disk reported an I/O error", "check the disk and the system log before anything else"),
    errno.EMFILE: ("this process has too many files open", "raise `ulimit -n` or close clients, then try again"),
    errno.ENFILE: ("the system has too many files open", "close other programs, then try again"),
    errno.EACCES: ("permission denied", "let the user that runs mcp-memory read and write there"),
    errno.EPERM: ("the operation is not permitted", "check the owner, the mode and the immutable flag"),
    errno.ENAMETOOLONG: ("the name is too long for this file system", "shorten it"),
    errno.EXDEV: ("the two places lie on different file systems", "keep the vault on one file system"),
    errno.ESTALE: ("the network share has gone", "mount it again"),
    errno.ENOTCONN: ("the mount has gone", "mount it again"),
    errno.ENODEV: ("the device has gone", "attach and mount it again"),
    errno.ETIMEDOUT: ("the file system did not answer", "check the network share"),
    errno.ENOENT: ("it is not there", "mount or create the vault's folder, then try again"),
}


@contextmanager
def naming_the_cause(path: str) -> Generator[None]:
    """Turn every OSError of the block into StorageFailed."""
    try:
        yield
    except OSError as error:
        raise failed(error, path) from error


def failed(error: OSError, path: str) -> StorageFailed:
    """Return the error to raise for a refusal at `path`."""
    _, hint = _CAUSES.get(error.errno or 0, ("", "see the system log"))
    name = errno.errorcode.get(error.errno or 0, "unknown")
    return StorageFailed(f"{printable(path)}: {reason(error)} [{name}]", hint=hint)


def reason(error: OSError) -> str:
    """Return only the cause, for a `Problem`."""
    code = error.errno or 0
    cause, _ = _CAUSES.get(code, (os.strerror(code) if code else str(error), ""))
    return cause
