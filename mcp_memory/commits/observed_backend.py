"""Wraps the vault's storage and reports every file that a write changes."""

import builtins
from collections.abc import Callable

from mcp_memory.models import Etag, FileStat, NotePath
from mcp_memory.storage.base import Blob, Listing, Prepared, StorageBackend, WriteReceipt


class ObservedBackend(StorageBackend):
    """A storage that calls `changed` after each write and before the caller gets its answer. Conflict copies aren't
    reported, because they contain another program's bytes."""

    def __init__(self, inner: StorageBackend, changed: Callable[[NotePath], None]) -> None:
        self.read_only = inner.read_only
        self._inner = inner
        self._changed = changed

    def prepare(self) -> Prepared:
        return self._inner.prepare()

    def expect(self, marker: str) -> None:
        self._inner.expect(marker)

    def list(self) -> Listing:
        return self._inner.list()

    def stat(self, path: NotePath) -> FileStat:
        return self._inner.stat(path)

    def glance(self, path: NotePath) -> str | None:
        return self._inner.glance(path)

    def read(self, path: NotePath, *, limit_bytes: int | None = None, beginning: bool = False) -> Blob:
        return self._inner.read(path, limit_bytes=limit_bytes, beginning=beginning)

    def write(self, path: NotePath, data: bytes, expected: Etag | None, *, portable: bool = True) -> WriteReceipt:
        written = self._inner.write(path, data, expected, portable=portable)
        self._changed(path)
        return written

    def move(self, source: NotePath, target: NotePath) -> None:
        self._inner.move(source, target)
        self._changed(source)
        self._changed(target)

    def remove_generated(self, path: NotePath, expected: Etag) -> None:
        self._inner.remove_generated(path, expected)
        self._changed(path)

    def rmdir_empty(self, folder: NotePath) -> bool:
        return self._inner.rmdir_empty(folder)

    def erase(self, path: NotePath, expected: Etag, rest: bytes | None = None) -> WriteReceipt | None:
        written = self._inner.erase(path, expected, rest)
        self._changed(path)
        return written

    def erase_displaced(self, path: NotePath) -> None:
        self._inner.erase_displaced(path)

    def settle(self, *, min_age_s: float = 1.0, path: NotePath | None = None) -> builtins.list[NotePath]:
        return self._inner.settle(min_age_s=min_age_s, path=path)
