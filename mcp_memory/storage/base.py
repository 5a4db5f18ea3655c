"""The contract of a storage back end.

Terms. PATH: relative POSIX path of a regular file under the root. ETAG: sha256 of a file's bytes.
SIGNATURE: what a listing can tell of a file without reading it; equal signatures of a settled file mean
equal bytes. DISPLACED: the bytes that a write put aside; they are kept for a while, because an editor may
still be writing to them through an old descriptor.

Verbs are synchronous and safe to call from several threads and processes; the engine runs them in worker
threads. Every verb raises `PathRefused` for a path that no back end may touch, and `StorageFailed` (which
names the cause: disk full, read-only, I/O error) where the file system says no; then the old bytes are intact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Etag, FileStat, NotePath, Problem


@dataclass(frozen=True, slots=True)
class Blob:
    """A file's bytes with their etag and the stat of the very descriptor they were read from. Where only the file's
    beginning was read, `etag` is that of the beginning, which no write accepts."""

    data: bytes
    etag: Etag
    stat: FileStat
    whole: bool = True


@dataclass(frozen=True, slots=True)
class WriteReceipt:
    """The outcome of a write. `conflict` names the file that keeps somebody's save which the write met."""

    etag: Etag
    stat: FileStat
    conflict: NotePath | None = None


FolderId = tuple[int, int]
"""Device and inode: differs when another folder has come under the same name, as a mount or a new one (mostly: an
inode number may be used again)."""


@dataclass(frozen=True, slots=True)
class Listing:
    """All readable `.md` files, and what could not be read and why."""

    files: dict[NotePath, FileStat]
    problems: list[Problem] = field(default_factory=list[Problem])
    ignored: int = 0
    """How many files an ignore rule left out."""
    complete: bool = True
    """False when the root or its marker was missing: then an absent file proves nothing."""
    folders: dict[NotePath, FolderId] = field(default_factory=dict[NotePath, FolderId])
    """Every folder that was looked into, the root as the empty path."""
    missing: frozenset[str] = frozenset()
    """Prefixes (`@name/`) of further roots that could not be listed: nothing is known of what is below them."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a start should tell: what this storage cannot do, in plain words, and what interrupted writes left behind
    whose bytes nobody knows."""

    warnings: Sequence[str] = ()
    leftovers: Sequence[Problem] = ()


class StorageBackend(ABC):
    """Five verbs on files, two narrow removals for bytes that we generated, two for a person, `settle`, and two for the
    start."""

    @property
    @abstractmethod
    def read_only(self) -> bool:
        """True when every writing verb raises `Refused`."""

    @abstractmethod
    def prepare(self) -> Prepared:
        """To be called once before the first write. Takes as long as a listing. Raises Refused where it is read-only,
        StorageFailed."""

    @abstractmethod
    def expect(self, marker: str) -> None:
        """From now on a listing without this file is incomplete, where the root can be away at all."""

    @abstractmethod
    def list(self) -> Listing:
        """All `.md` files below the root; hidden, ignored and linked ones are left out, and never followed."""

    @abstractmethod
    def stat(self, path: NotePath) -> FileStat:
        """Raises NotFound."""

    def glance(self, path: NotePath) -> str | None:
        """The signature of a file as cheaply as can be, for comparing it with a known one; None where that is not to be
        had. Whoever finds another one looks again with `stat`."""
        try:
            return self.stat(path).signature
        except McpMemoryError:
            return None

    @abstractmethod
    def read(self, path: NotePath, *, limit_bytes: int | None = None, beginning: bool = False) -> Blob:
        """The file's bytes. Raises NotFound, and Refused for a file larger than `limit_bytes`, unless its `beginning`
        will do."""

    @abstractmethod
    def write(self, path: NotePath, data: bytes, expected: Etag | None) -> WriteReceipt:
        """Publish `data`, durably: when this returns, the bytes survive a power cut.

        `expected is None`: the path must be free, folders are made as needed; raises AlreadyExists, also for
        a name that a case-folding or normalising file system would not keep apart from an existing one.
        Otherwise the file's bytes must have this etag; raises PreconditionFailed (or NotFound), and what a
        racing editor saved in the last instant is kept beside it as a conflict copy.
        """

    @abstractmethod
    def move(self, source: NotePath, target: NotePath) -> None:
        """One no-replace rename, folders made as needed. Raises NotFound, AlreadyExists."""

    @abstractmethod
    def remove_generated(self, path: NotePath, expected: Etag) -> None:
        """Remove a file whose bytes we generated. Raises NotFound, PreconditionFailed."""

    @abstractmethod
    def rmdir_empty(self, folder: NotePath) -> bool:
        """Remove a folder if it is empty; False if it is not or does not exist."""

    @abstractmethod
    def erase(self, path: NotePath, expected: Etag, rest: bytes | None = None) -> WriteReceipt | None:
        """A person wants it gone for good, whoever wrote it: the file, or all of its bytes but `rest`, and with them
        what was displaced, as `erase_displaced` does. What an editor saved in the last instant is kept beside it even
        now. Raises NotFound, PreconditionFailed."""

    @abstractmethod
    def erase_displaced(self, path: NotePath) -> None:
        """Take away now what writes have displaced under that path, and all that ended processes left behind, as far
        as its bytes are known."""

    @abstractmethod
    def settle(self, *, min_age_s: float = 1.0, path: NotePath | None = None) -> list[NotePath]:
        """Look again at displaced files older than `min_age_s`, of one `path` only if it is given: drop those still
        as they were displaced, keep a changed one as a conflict copy, and return the new copies' paths."""
