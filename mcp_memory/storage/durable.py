"""Makes folders whose own names are durable: a note is no safer than the folders that lead to it."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.runtime.renames import sync
from mcp_memory.storage.folders import open_child, opened_folder, twin
from mcp_memory.storage.locks import PathLocks
from mcp_memory.storage.path_rules import already_exists, split

FOLDER_MODE = 0o700


class DurableFolders:
    """Remembers by path and inode which folders' parents it has fsynced. Thread-safe."""

    def __init__(self, locks: PathLocks) -> None:
        self._locks = locks
        self._durable: dict[str, int] = {}
        self._guard = threading.Lock()

    @contextmanager
    def opened(self, root: int, folder: str, *, make: bool = False) -> Generator[int]:
        """A descriptor of a folder whose own name is durable, and those above it; missing ones are made if `make`.

        An error in the block removes the folders that were made. Raises NotFound, AlreadyExists for a folder that
        differs only in case or normal form, PathRefused, OSError (ENOENT if a new folder was removed: try again).
        """
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
        """Call it when a folder is removed: another one may get its inode number."""
        with self._guard:
            self._durable.pop(path, None)

    def _made(self, parent: int, name: str, path: str) -> bool:
        """Makes a folder unless an entry collides with it; False if it exists. Raises AlreadyExists."""
        other = twin(parent, name)
        if other is None:
            with self._locks.hold(path):
                other = twin(parent, name)
                if other is None:
                    self.forget(path)
                    with suppress(FileExistsError):  # an editor made it at this very moment
                        os.mkdir(name, FOLDER_MODE, dir_fd=parent)
                        return True
                    return False
        if other != name:
            raise already_exists(path, other)
        return False

    def _make_durable(self, parent: int, child: int, path: str) -> None:
        """fsyncs the parent of a folder once: its maker (a killed process, an editor) may not have done so."""
        inode = os.fstat(child).st_ino
        with self._guard:
            known = self._durable.get(path) == inode
        if not known:
            sync(parent)
            with self._guard:
                self._durable[path] = inode

    def _unmake(self, root: int, made: Sequence[str]) -> None:
        """Removes folders that a failed write made, if they are still empty."""
        for path in reversed(made):
            above, name = split(path)
            self.forget(path)
            with suppress(OSError, McpMemoryError), opened_folder(root, above) as parent:
                os.rmdir(name, dir_fd=parent)
