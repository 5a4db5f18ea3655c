"""The contract of a storage back end.

Path: relative POSIX path of a regular file under the root. Etag: sha256 of a file's bytes. Signature: the facts that a
listing has about a file without reading it; equal signatures of a settled file mean equal bytes. Displaced: the bytes
that a write put aside, kept for a while because an editor may still be writing to them through an old descriptor.

Verbs are synchronous and safe to call from several threads and processes. Every verb raises `PathRefused` for a path
that no back end may touch. If the file system refuses, every verb raises `StorageFailed`, which names the cause (disk
full, read-only, I/O error), and the old bytes are intact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Etag, FileStat, NotePath, Problem


class Blob(NamedTuple):
    """A file's bytes with the stat of the descriptor that they were read from."""

    data: bytes
    etag: Etag  # unless `whole`, the etag of the beginning that was read, which no write accepts
    stat: FileStat
    whole: bool = True


class WriteReceipt(NamedTuple):
    """The outcome of a write."""

    etag: Etag
    stat: FileStat
    conflict: NotePath | None = None  # a copy of the editor's save that the write met


# device and inode, which distinguish a folder from a later folder of its name, unless the inode is reused
FolderId = tuple[int, int]


@dataclass(frozen=True)
class Listing:
    """All readable `.md` files, and why others can't be read."""

    files: dict[NotePath, FileStat]
    problems: list[Problem] = field(default_factory=list[Problem])
    ignored: int = 0  # the number of files that match an ignore rule
    complete: bool = True  # False if the root or its marker was missing: then an absent file proves nothing
    # all listed folders; the root is the empty path
    folders: dict[NotePath, FolderId] = field(default_factory=dict[NotePath, FolderId])
    missing: frozenset[str] = frozenset()  # prefixes (`@name/`) of sources that couldn't be listed


class Prepared(NamedTuple):
    """The problems that a start should report."""

    warnings: Sequence[str] = ()  # guarantees that this storage can't give
    leftovers: Sequence[Problem] = ()  # files of interrupted writes whose bytes are unknown


class StorageBackend(ABC):
    """The verbs on the files of one folder."""

    read_only: bool  # every writing verb raises `Refused`

    @abstractmethod
    def prepare(self) -> Prepared:
        """Prepare the folder; call it once before the first write. Takes as long as a listing. Raises Refused if
        read-only."""

    @abstractmethod
    def expect(self, marker: str) -> None:
        """Treat each listing without this file as incomplete from now on."""

    @abstractmethod
    def list(self) -> Listing:
        """List all `.md` files below the root, without hidden and ignored ones; links are never followed."""

    @abstractmethod
    def stat(self, path: NotePath) -> FileStat:
        """Return a file's stat. Raises NotFound."""

    def glance(self, path: NotePath) -> str | None:
        """Return a file's signature, obtained cheaply, for comparison with a known one; or None. If it differs, call
        `stat`."""
        try:
            return self.stat(path).signature
        except McpMemoryError:
            return None

    @abstractmethod
    def read(self, path: NotePath, *, limit_bytes: int | None = None, beginning: bool = False) -> Blob:
        """Read a file. Raises NotFound, and Refused for a file larger than `limit_bytes`, unless `beginning` asks for
        that much."""

    @abstractmethod
    def write(self, path: NotePath, data: bytes, expected: Etag | None, *, portable: bool = True) -> WriteReceipt:
        """Publish `data` durably: when this returns, the bytes survive a power cut.

        If `expected` is None, the path must be free; folders are made as needed. Raises AlreadyExists, and if
        `portable`, also for a name that differs from an existing one only in case or Unicode form. A `portable` name
        that another system does not allow raises PathRefused.

        With `expected`, the file's bytes must have this etag; raises PreconditionFailed or NotFound. If an editor saved
        in the last instant, its version is kept beside the file as a conflict copy."""

    @abstractmethod
    def move(self, source: NotePath, target: NotePath) -> None:
        """Move a file by one no-replace rename; folders are made as needed. Raises NotFound, AlreadyExists."""

    @abstractmethod
    def remove_generated(self, path: NotePath, expected: Etag) -> None:
        """Remove a file whose bytes we generated. Raises NotFound, PreconditionFailed."""

    @abstractmethod
    def rmdir_empty(self, folder: NotePath) -> bool:
        """Remove a folder if it is empty; return False if it isn't empty or doesn't exist."""

    @abstractmethod
    def erase(self, path: NotePath, expected: Etag, rest: bytes | None = None) -> WriteReceipt | None:
        """Remove a file for good, or all of its bytes except `rest`, and its displaced bytes. As always, an editor's
        save of the last instant is kept beside it. Raises NotFound, PreconditionFailed."""

    @abstractmethod
    def erase_displaced(self, path: NotePath) -> None:
        """Remove the bytes that writes have displaced under that path, and the files that ended processes left behind,
        if their bytes are known."""

    @abstractmethod
    def settle(self, *, min_age_s: float = 1.0, path: NotePath | None = None) -> list[NotePath]:
        """Check displaced files older than `min_age_s` (with `path`, only those of that path). Remove unchanged files,
        keep changed files as conflict copies, and return the copies' paths."""
