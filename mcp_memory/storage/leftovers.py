"""Files under hidden names of ours, and what a crash may leave of them: restored, removed if their bytes are known,
or reported.

A hidden name identifies the bytes that the file should have. After a crash a file with known bytes can be removed. A
file with unknown bytes, which may be an editor's save, is kept and reported.

    .<random>.<new>.<old>.mcpm                 `new`, `old`: first 16 hex digits of an etag; `old` may be `none`.
    .<random>.<new>.<old>.was.<name>.mcpm      The old file, put aside while `<name>` is free for a moment.

A hidden file is ours only if its name has our form; no other file is touched.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Etag, NotePath, Problem, etag_of
from mcp_memory.runtime.atomic_rename import KernelRenames, exists, is_supported, move_free, sync
from mcp_memory.runtime.private_files import reason
from mcp_memory.storage.folders import etag_of_file, opened_file, opened_folder
from mcp_memory.storage.listing import list_notes
from mcp_memory.storage.locks import PathLocks
from mcp_memory.storage.path_rules import MAX_COMPONENT_BYTES
from mcp_memory.text.escape_invisible import printable

NEW_FILE_MODE = 0o600
"""The mode of new files: notes are private. To share them, change the mode, which replacing keeps."""

SUFFIX = ".mcpm"
_DIGITS = 16
_FORM = re.compile(
    rf"\.[0-9a-f]{{8}}\.(?P<new>[0-9a-f]{{{_DIGITS}}})\.(?P<old>[0-9a-f]{{{_DIGITS}}}|none)(?:\.was\.(?P<was>.+))?\.mcpm",
    re.DOTALL,
)


@dataclass(frozen=True)
class TempName:
    """The bytes that a hidden file should have: the bytes of a write (`new`) or the replaced bytes (`old`)."""

    new: str
    old: str | None
    was: str | None = None  # the file's name before, which it gets back if that is free

    @classmethod
    def for_etags(cls, new: Etag, old: Etag | None) -> TempName:
        return cls(new[:_DIGITS], old[:_DIGITS] if old else None)

    @classmethod
    def parse(cls, name: str) -> TempName | None:
        """Parse a hidden name; None for a name that is not ours."""
        found = _FORM.fullmatch(name)
        return found and cls(found["new"], None if found["old"] == "none" else found["old"], found["was"])

    def names_bytes(self, etag: Etag) -> bool:
        """Return whether bytes with this etag are the new or the old bytes, so that nothing is lost with the file."""
        return etag[:_DIGITS] in {self.new, self.old}

    def fresh(self) -> str:
        """Return a new file name of this form; it may exceed 255 bytes if `was` nearly does."""
        was = f".was.{self.was}" if self.was else ""
        return f".{secrets.token_hex(4)}.{self.new}.{self.old or 'none'}{was}{SUFFIX}"


def conflict_name(name: str, moment: datetime, number: int = 1) -> str:
    """Name a conflict copy: `plan.md` → `plan (conflict 2026-11-21 14.03.55).md`; `number` distinguishes copies of the
    same second.

    The name has no colons, so that it can be synced to Windows; the stem is shortened if 255 bytes would be exceeded.
    """
    path = PurePosixPath(name)
    count = f" {number}" if number > 1 else ""
    tail = f" (conflict {moment:%Y-%m-%d %H.%M.%S}{count}){path.suffix}"
    room = MAX_COMPONENT_BYTES - len(tail.encode())
    stem = path.stem.encode("utf-8", "surrogateescape")[:room].decode("utf-8", "ignore").rstrip()
    return stem + tail


@contextmanager
def temp(folder: int, hidden: str, data: bytes, mode: int, group: int | None) -> Generator[int]:
    """Open a new hidden file with these bytes, durable, and locked against the sweep of leftovers.

    If writing or fsync fails the file is dropped. fsync is never tried again on it: Linux has dropped the dirty pages,
    so a second fsync would succeed without them."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(hidden, flags, NEW_FILE_MODE, dir_fd=folder)
    try:
        try:
            # Not every file system has locks; the sweep also checks the age.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if group is not None and group != os.fstat(descriptor).st_gid:
                os.fchown(descriptor, -1, group)
            if mode != NEW_FILE_MODE:
                os.fchmod(descriptor, mode)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            sync(descriptor)
        except OSError:
            discard(folder, hidden, descriptor)
            raise
        yield descriptor
    finally:
        os.close(descriptor)


def discard(folder: int, hidden: str, descriptor: int) -> None:
    """Remove our own temporary file; one that can't be removed is a leftover, swept later.

    The name must still refer to that file: a network file system may report an error after it did the exchange, and
    then the displaced file is there."""
    with suppress(OSError):
        if os.path.samestat(os.stat(hidden, dir_fd=folder, follow_symlinks=False), os.fstat(descriptor)):
            os.unlink(hidden, dir_fd=folder)


@dataclass(frozen=True)
class LeftoverSweep:
    """The result of a sweep. `removed` files had known bytes. `restored` files got their names back. Check the `kept`
    files yourself."""

    removed: list[str] = field(default_factory=list[str])
    restored: list[NotePath] = field(default_factory=list[NotePath])
    kept: list[Problem] = field(default_factory=list[Problem])


def sweep(root: int, renames: KernelRenames, locks: PathLocks, min_age_s: float) -> LeftoverSweep:
    """Handle every leftover below the open root that is older than `min_age_s` and not in use."""
    sweeper = _Sweeper(renames, locks, min_age_s)
    for path in list_notes(root, None).folders:
        # The listing reports a folder that has gone or cannot be opened.
        with suppress(McpMemoryError, OSError), opened_folder(root, path) as folder:
            sweeper.sweep_folder(folder, f"{path}/" if path else "")
    return sweeper.swept


@dataclass(frozen=True)
class _Sweeper:
    renames: KernelRenames
    locks: PathLocks
    min_age_s: float
    swept: LeftoverSweep = field(default_factory=LeftoverSweep)

    def sweep_folder(self, folder: int, prefix: str) -> None:
        """Handle the leftovers in one open folder; `prefix` is its path with a trailing slash."""
        for name in os.listdir(folder):
            label = TempName.parse(name) if name.endswith(SUFFIX) else None
            if label is None:
                continue
            try:
                self._settle(folder, prefix, name, label)
            except McpMemoryError as error:
                self.swept.kept.append(Problem(printable(prefix + name), error.message))
            except OSError as error:
                self.swept.kept.append(Problem(printable(prefix + name), f"could not be checked: {reason(error)}"))

    def _settle(self, folder: int, prefix: str, name: str, label: TempName) -> None:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if abs(time.time() - found.st_ctime) < self.min_age_s:
            return
        if label.was and self._was_restored(folder, prefix, name, label.was):
            self.swept.restored.append(NotePath(prefix + label.was))
            return
        with opened_file(folder, name, prefix + name) as (descriptor, _):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            # A new file's draft may have been cut off before its first byte.
            is_unbegun = label.old is None and os.fstat(descriptor).st_size == 0
            if label.names_bytes(etag_of_file(descriptor)) or is_unbegun:
                os.unlink(name, dir_fd=folder)
                self.swept.removed.append(printable(prefix + name))
            else:
                what = "left by an interrupted write; its bytes are unknown and may be an editor's save"
                self.swept.kept.append(Problem(printable(prefix + name), what))

    def _was_restored(self, folder: int, prefix: str, name: str, was: str) -> bool:
        """Rename a file that was put aside to its old name if that is free. The lock excludes a concurrent write."""
        with self.locks.hold(prefix + was):
            if exists(folder, was):
                return False
            with suppress(FileExistsError):
                move_free(self.renames, folder, name, folder, was)
                sync(folder)
                return True
        return False


_EMPTY = TempName.for_etags(etag_of(b""), None)


def missing_guarantees(folder: int, renames: KernelRenames) -> list[str]:
    """Try each strict call in an open, writable folder; return a line for each guarantee that a missing call costs.

    Empty on ext4, xfs, btrfs and APFS. Raises OSError if not even a file can be made."""
    one, two, three = (_EMPTY.fresh() for _ in range(3))
    try:
        for name in (one, two):
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder))
        exchange = is_supported(lambda: renames.exchange(folder, one, two))
        link = is_supported(lambda: renames.link(folder, one, three))
        if link:
            os.unlink(three, dir_fd=folder)
        rename_free = is_supported(lambda: renames.rename_free(folder, two, folder, three))
    finally:
        for name in (one, two, three):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
    lines: list[str] = []
    if not exchange:
        lines.append(
            "this file system cannot exchange two files: while a note is replaced its name is free for a moment, "
            "in which other programs do not see it"
        )
    if not rename_free and not link:
        lines.append(
            "this file system has neither links nor renames that spare an existing file: a save that another "
            "program makes under a new note's name at the very same moment can be lost"
        )
    elif not rename_free:
        lines.append(
            "this file system cannot rename without replacing: a note moved onto a name that another program "
            "takes at the very same moment replaces it"
        )
    return lines
