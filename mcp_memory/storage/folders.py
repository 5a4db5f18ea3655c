"""Opens files by descriptors: each folder relative to its parent, following no link, then checks what was opened.

Nothing is checked before the open: only the descriptor counts, so a name swapped in between changes nothing.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mcp_memory.errors import NotFound, PathRefused
from mcp_memory.models import Etag
from mcp_memory.storage.path_rules import fold
from mcp_memory.text.escape_invisible import printable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# The errors for a link, a file in place of a folder, and a socket. EMLINK: links on FreeBSD.
_ODD = frozenset({errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EMLINK})
BLOCK_BYTES = 1 << 20


@contextmanager
def opened_root(root: Path) -> Generator[int]:
    """A descriptor of the root. Raises OSError. Opened at each verb: the root may be deleted and made again."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened_folder(root: int, folder: str) -> Generator[int]:
    """A descriptor of a folder below the root (`""` = the root itself).

    Raises NotFound, PathRefused for a link or file on the way, OSError.
    """
    descriptor = os.dup(root)
    try:
        for part in folder.split("/") if folder else ():
            child = open_child(descriptor, part, folder)
            os.close(descriptor)
            descriptor = child
        yield descriptor
    finally:
        os.close(descriptor)


def open_child(parent: int, name: str, path: str) -> int:
    """A descriptor of the folder `name`; `path` is for messages. Raises NotFound, PathRefused, OSError."""
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        raise NotFound(f"no folder '{printable(path)}'") from None
    except OSError as error:
        if error.errno not in _ODD:
            raise
        raise PathRefused(
            f"'{printable(name)}' in '{printable(path)}' is {kind_at(parent, name)}, not a folder",
            hint="links are never followed; name a real folder inside the vault",
        ) from error


@contextmanager
def opened_file(folder: int, name: str, path: str) -> Generator[tuple[int, os.stat_result]]:
    """A descriptor of a regular file and its stat. Raises NotFound, PathRefused for anything else, OSError.

    O_NONBLOCK: opening a FIFO must not wait for its writer.
    """
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        raise NotFound(f"no file '{printable(path)}'") from None
    except OSError as error:
        if error.errno not in _ODD:
            raise
        raise _not_regular(path, kind_at(folder, name)) from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _not_regular(path, kind(found.st_mode))
        yield descriptor, found
    finally:
        os.close(descriptor)


def regular_stat(folder: int, name: str, path: str) -> os.stat_result:
    """The stat of a regular file, without opening it. Raises NotFound, PathRefused, OSError."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        raise NotFound(f"no file '{printable(path)}'") from None
    if not stat.S_ISREG(found.st_mode):
        raise _not_regular(path, kind(found.st_mode))
    return found


def etag_of(descriptor: int) -> Etag:
    """The etag of an open file's bytes; read in blocks, so that a huge file costs no memory."""
    digest = hashlib.sha256()
    offset = 0
    while block := os.pread(descriptor, BLOCK_BYTES, offset):
        digest.update(block)
        offset += len(block)
    return Etag(digest.hexdigest())


def twin(folder: int, name: str) -> str | None:
    """The entry that `name` would collide with: itself, or one that differs only in case or normal form; else None.

    By listing, not by stat: on a case-folding file system a stat would find the other spelling under this name.
    """
    names = os.listdir(folder)
    if name in names:
        return name
    folded = fold(name)
    return next((other for other in names if fold(other) == folded), None)


def kind_at(folder: int, name: str) -> str:
    """What sort of file has that name, for a message."""
    try:
        return kind(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return "something that has just gone"


def kind(mode: int) -> str:
    """A file's sort in words, with the article."""
    for test, words in (
        (stat.S_ISREG, "a file"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a character device"),
        (stat.S_ISBLK, "a block device"),
    ):
        if test(mode):
            return words
    return "no regular file"


def _not_regular(path: str, what: str) -> PathRefused:
    return PathRefused(f"'{printable(path)}' is {what}, not a regular file", hint="links are never followed")
