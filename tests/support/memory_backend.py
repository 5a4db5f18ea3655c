"""Files in a dictionary: the contract without a disk, for tests and for trying things out. Nothing is durable."""

from __future__ import annotations

import builtins
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_memory.errors import NotFound, PathRefused, PreconditionFailed, Refused
from mcp_memory.models import Etag, FileStat, NotePath
from mcp_memory.storage.base import Blob, Listing, Prepared, StorageBackend, WriteReceipt
from mcp_memory.storage.path_rules import already_exists, fold, is_note, split, validate_existing, validate_new
from mcp_memory.text.escape_invisible import printable


@dataclass(frozen=True, slots=True)
class _File:
    data: bytes
    etag: Etag
    version: int


class MemoryBackend(StorageBackend):
    """One lock serves all verbs; a version number takes the place of inode and times."""

    def __init__(self, *, read_only: bool = False) -> None:
        self.read_only = read_only
        self._files: dict[str, _File] = {}
        self._folders: set[str] = set()
        self._versions = 0
        self._guard = threading.Lock()

    def prepare(self) -> Prepared:
        self._must_be_writable()
        return Prepared()

    def expect(self, marker: str) -> None:
        """Nothing: a dictionary is always there."""

    def list(self) -> Listing:
        with self._guard:
            files = {NotePath(path): _stat(path, file) for path, file in self._files.items()}
            return Listing(files, folders={NotePath(path): (0, 0) for path in ("", *self._folders)})

    def stat(self, path: NotePath) -> FileStat:
        with self._guard:
            return _stat(path, self._file(path))

    def read(self, path: NotePath, *, limit_bytes: int | None = None, beginning: bool = False) -> Blob:
        with self._guard:
            file = self._file(path)
        if limit_bytes is not None and len(file.data) > limit_bytes:
            if not beginning:
                raise Refused(f"'{printable(path)}' is larger than {limit_bytes} bytes")
            data = file.data[:limit_bytes]
            return Blob(data, Etag(hashlib.sha256(data).hexdigest()), _stat(path, file), whole=False)
        return Blob(file.data, file.etag, _stat(path, file))

    def write(self, path: NotePath, data: bytes, expected: Etag | None, *, portable: bool = True) -> WriteReceipt:
        self._must_be_writable()
        with self._guard:
            if expected is None:
                self._claim(validate_new(path, portable=portable))
            else:
                self._compare(path, expected)
                if not is_note(path):
                    raise PathRefused(f"'{printable(path)}' does not end in .md", hint="only notes are written")
            self._versions += 1
            etag = Etag(hashlib.sha256(data).hexdigest())
            file = self._files[path] = _File(bytes(data), etag, self._versions)
            return WriteReceipt(etag, _stat(path, file))

    def move(self, source: NotePath, target: NotePath) -> None:
        self._must_be_writable()
        validate_existing(source)
        validate_new(target)
        with self._guard:
            file = self._file(source)
            if source == target:
                raise already_exists(target, split(target)[1])
            self._claim(target, leaving=source)
            del self._files[source]
            self._files[target] = file

    def remove_generated(self, path: NotePath, expected: Etag) -> None:
        self._must_be_writable()
        with self._guard:
            self._compare(path, expected)
            del self._files[path]

    def rmdir_empty(self, folder: NotePath) -> bool:
        self._must_be_writable()
        validate_existing(folder)
        with self._guard:
            inside = f"{folder}/"
            if folder not in self._folders or any(name.startswith(inside) for name in (*self._files, *self._folders)):
                return False
            self._folders.remove(folder)
            return True

    def erase(self, path: NotePath, expected: Etag, rest: bytes | None = None) -> WriteReceipt | None:
        if rest is not None:
            return self.write(path, rest, expected)
        self.remove_generated(path, expected)
        return None

    def erase_displaced(self, path: NotePath) -> None:
        """As with `settle`, there is never anything."""

    def settle(self, *, min_age_s: float = 1.0, path: NotePath | None = None) -> builtins.list[NotePath]:
        """Nobody can hold a descriptor of a displaced value, so there is never anything to look at again."""
        del min_age_s, path
        return []

    def _claim(self, path: str, leaving: str | None = None) -> None:
        """Makes the folders of a new path. Raises AlreadyExists where a name on the way collides."""
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            here = "/".join(parts[:depth])
            is_file = depth == len(parts)
            other = next((name for name in self._siblings(here) if fold(name) == fold(here) and name != leaving), None)
            if other is not None and (is_file or other != here):
                raise already_exists(path if is_file else here, split(other)[1])
            if other in self._files:
                raise PathRefused(f"'{printable(here)}' is a file, not a folder", hint="name a folder")
        self._folders.update("/".join(parts[:depth]) for depth in range(1, len(parts)))

    def _siblings(self, path: str) -> Iterator[str]:
        folder = split(path)[0]
        return (name for name in (*self._folders, *self._files) if split(name)[0] == folder)

    def _compare(self, path: str, expected: Etag) -> None:
        if self._file(path).etag != expected:
            raise PreconditionFailed(f"'{printable(path)}' was changed by another program", hint="read it again")

    def _file(self, path: str) -> _File:
        file = self._files.get(validate_existing(path))
        if file is None:
            if path in self._folders:
                raise PathRefused(f"'{printable(path)}' is a folder, not a regular file")
            raise NotFound(f"no file '{printable(path)}'")
        return file

    def _must_be_writable(self) -> None:
        if self.read_only:
            raise Refused("this memory is read-only")


def _stat(path: str, file: _File) -> FileStat:
    return FileStat(NotePath(path), f"v{file.version}", len(file.data))
