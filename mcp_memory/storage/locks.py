"""Lock paths by `flock`: the lock ends with the process, without a lease, a PID or a clock.

Each path has one of a fixed number of lock files, which are never removed. They are outside the vault, so that no sync
client copies them. Editors don't use these locks, so a write also checks the file that it displaced.
"""

import fcntl
import os
import time
import zlib
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_memory.errors import DeadlineExceeded
from mcp_memory.runtime.private_files import make_private
from mcp_memory.storage.path_rules import fold

BUCKETS = 64
_FIRST_WAIT_S = 0.0005
_LONGEST_WAIT_S = 0.005


@dataclass(frozen=True)
class PathLocks:
    """The locks of paths, in files in `folder`; without a folder, a single lock on the vault's own root serves every
    path."""

    folder: Path | None
    root: Path
    deadline_s: float

    @contextmanager
    def hold(self, *paths: str) -> Generator[None]:
        """Hold the locks of all these paths. Not re-entrant. Raises DeadlineExceeded, OSError.

        Names that a case-folding file system wouldn't distinguish share a lock. Locks are taken in order, so two
        callers with several locks can't wait for each other."""
        until = time.monotonic() + self.deadline_s
        with ExitStack() as held:
            for bucket in sorted({zlib.crc32(fold(path).encode()) % BUCKETS for path in paths}):
                descriptor = self._acquire(bucket, until)
                held.callback(_release, descriptor)
                if self.folder is None:
                    break
            yield

    def _acquire(self, bucket: int, until: float) -> int:
        while True:
            descriptor = self._open(bucket)
            try:
                self._wait(descriptor, until)
                if self._is_current(bucket, descriptor):
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            _release(descriptor)

    def _open(self, bucket: int) -> int:
        if self.folder is None:
            return os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with suppress(FileNotFoundError):
            return os.open(self._place(bucket), flags, 0o600)
        make_private(self.folder)
        return os.open(self._place(bucket), flags, 0o600)

    def _wait(self, descriptor: int, until: float) -> None:
        pause_s = _FIRST_WAIT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise DeadlineExceeded(
                        f"another writer has held the lock for {self.deadline_s:g} s", hint="try again"
                    ) from None
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_WAIT_S)

    def _is_current(self, bucket: int, descriptor: int) -> bool:
        """Return False if the lock file was removed meanwhile: then the next writer would lock another file."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self._place(bucket)))  # noqa: PTH116 -- fstat's pair
        except FileNotFoundError:
            return False

    def _place(self, bucket: int) -> Path:
        return self.root if self.folder is None else self.folder / f"path-{bucket:02}.lock"


def _release(descriptor: int) -> None:
    # Unlocking, not only closing: a child forked in between has a copy of the descriptor.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
