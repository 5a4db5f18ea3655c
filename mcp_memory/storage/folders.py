"""Open and make folders, and open files: each relative to its parent, following no link, then check the result.

Nothing is checked before the open. Only the descriptor matters, so a name swapped in between changes nothing.
"""

import errno
import hashlib
import os
import stat
import threading
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mcp_memory.errors import McpMemoryError, NotFound, PathRefused
from mcp_memory.models import Etag
from mcp_memory.runtime.atomic_rename import sync
from mcp_memory.storage.locks import PathLocks
from mcp_memory.storage.path_rules import already_exists, fold, split
from mcp_memory.text.escape_invisible import printable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# The errors for a link, a file in place of a folder, and a socket. EMLINK: links on FreeBSD.
_ODD = frozenset({errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EMLINK})
BLOCK_BYTES = 1 << 20
FOLDER_MODE = 0o700


@contextmanager
def opened_root(root: Path) -> Generator[int]:
    """Open a descriptor of the root, at each verb anew, since the root may be deleted and made again. Raises
    OSError."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened_folder(root: int, folder: str) -> Generator[int]:
    """Open a descriptor of a folder below the root (`""` = the root itself).

    Raises NotFound, PathRefused for a link or file on the way, OSError."""
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
    """Open a descriptor of the folder `name`; `path` is for messages. Raises NotFound, PathRefused, OSError."""
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
    """Open a descriptor of a regular file and return it with its stat. Raises NotFound, PathRefused for anything else,
    OSError.

    O_NONBLOCK: opening a FIFO must not wait for its writer."""
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
    """Return the stat of a regular file, without opening it. Raises NotFound, PathRefused, OSError."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        raise NotFound(f"no file '{printable(path)}'") from None
    if not stat.S_ISREG(found.st_mode):
        raise _not_regular(path, kind(found.st_mode))
    return found


def etag_of_file(descriptor: int) -> Etag:
    """Return the etag of an open file's bytes, which are read in blocks, so that a huge file costs no memory."""
    digest = hashlib.sha256()
    offset = 0
    while block := os.pread(descriptor, BLOCK_BYTES, offset):
        digest.update(block)
        offset += len(block)
    return Etag(digest.hexdigest())


def twin(folder: int, name: str) -> str | None:
    """Return the entry that `name` would collide with, or None: the same name, or a name that differs only in case or
    normal form.

    This lists the folder, since on a case-folding file system a stat would find the other spelling under this name."""
    names = os.listdir(folder)
    if name in names:
        return name
    folded = fold(name)
    return next((other for other in names if fold(other) == folded), None)


def kind_at(folder: int, name: str) -> str:
    """Return the kind of file with that name, for a message."""
    try:
        return kind(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return "something that has just gone"


def kind(mode: int) -> str:
    """Return a file's kind, with the article."""
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


class DurableFolders:
    """Make folders whose own names are durable, since a note is only as safe as the folders above it.

    Remembers by path and inode which folders' parents it has fsynced. Thread-safe."""

    def __init__(self, locks: PathLocks) -> None:
        self._locks = locks
        self._durable: dict[str, int] = {}
        self._guard = threading.Lock()

    @contextmanager
    def opened(self, root: int, folder: str, *, make: bool = False) -> Generator[int]:
        """Open a descriptor of a folder whose path is durable, from the root down; missing folders are
        made if `make`.

        An error in the block removes the folders that were made. Raises NotFound, AlreadyExists for a folder that
        differs only in case or normal form, PathRefused, OSError (ENOENT if a new folder was removed: try again)."""
        made: list[str] = []
        with ExitStack() as opened:
            at, path = root, ""
            try:
                for name in folder.split("/") if folder else ():
                    path = f"{path}/{name}" if path else name
                    if make and self._made(at, name, path):
                        made.append(path)
                    try:
                        child = open_child(at, name, path)
                    except NotFound:
                        if make:
                            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
                        raise
                    opened.callback(os.close, child)
                    self._make_durable(at, child, path)
                    at = child
                yield at
            except BaseException:
                self._unmake(root, made)
                raise

    def forget(self, path: str) -> None:
        """Forget a folder that is removed: another one may get its inode number."""
        with self._guard:
            self._durable.pop(path, None)

    def _made(self, parent: int, name: str, path: str) -> bool:
        """Make a folder unless an entry collides with it; False if it exists. Raises AlreadyExists."""
        other = twin(parent, name)
        if other is None:
            with self._locks.hold(path):
                other = twin(parent, name)
                if other is None:
                    self.forget(path)
                    with suppress(FileExistsError):  # an editor made it at the same moment
                        os.mkdir(name, FOLDER_MODE, dir_fd=parent)
                        return True
                    return False
        if other != name:
            raise already_exists(path, other)
        return False

    def _make_durable(self, parent: int, child: int, path: str) -> None:
        """Fsync the parent of a folder once: its maker (a killed process, an editor) may not have done so."""
        inode = os.fstat(child).st_ino
        with self._guard:
            known = self._durable.get(path) == inode
        if not known:
            sync(parent)
            with self._guard:
                self._durable[path] = inode

    def _unmake(self, root: int, made: Sequence[str]) -> None:
        """Remove folders that a failed write made, if they are still empty."""
        for path in reversed(made):
            above, name = split(path)
            self.forget(path)
            with suppress(OSError, McpMemoryError), opened_folder(root, above) as parent:
                os.rmdir(name, dir_fd=parent)
