"""Keep files in a folder: durable, atomic, and safe beside editors, sync clients and other processes."""

import builtins
import errno
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from mcp_memory.errors import McpMemoryError, NotFound, PathRefused, Refused, StorageFailed
from mcp_memory.models import Etag, FileStat, NotePath, Problem, etag_of
from mcp_memory.runtime.atomic_rename import KernelRenames, move_free, sync
from mcp_memory.runtime.private_files import naming_the_cause, reason
from mcp_memory.storage.base import Blob, Listing, Prepared, StorageBackend, WriteReceipt
from mcp_memory.storage.folders import DurableFolders, opened_file, opened_folder, opened_root, regular_stat, twin
from mcp_memory.storage.leftovers import LeftoverSweep, missing_guarantees, sweep
from mcp_memory.storage.listing import file_stat, list_notes, read_ignore, read_stable, unsettled
from mcp_memory.storage.locks import PathLocks
from mcp_memory.storage.path_rules import already_exists, is_note, split, validate_existing, validate_new
from mcp_memory.storage.publish import Publisher, PublishTarget, compare
from mcp_memory.text.escape_invisible import printable

_Result = TypeVar("_Result")

YOUNG_S = 10.0  # a younger leftover may belong to another process's write that is still under way
_MAX_TRIES = 5  # for a new name whose folder is removed meanwhile


class FilesystemBackend(StorageBackend):
    """The files below `root`, which may be a symbolic link itself and may vanish and come back.

    `locks` is a folder outside the vault for lock files (None: one lock on the root), the same for every process that
    writes to this vault. `marker` is a file whose absence makes a listing incomplete; `deadline_s` bounds the wait for
    a lock."""

    def __init__(
        self,
        root: Path,
        *,
        locks: Path | None = None,
        read_only: bool = False,
        deadline_s: float = 5.0,
        marker: str | None = None,
        renames: KernelRenames | None = None,
    ) -> None:
        self.root = root.resolve()
        self.read_only = read_only
        self._marker = marker
        self._renames = renames or KernelRenames()
        self._locks = PathLocks(locks, self.root, deadline_s)
        self._publisher = Publisher(self._renames)
        self._folders = DurableFolders(self._locks)
        self._opened_s = time.monotonic()

    def prepare(self) -> Prepared:
        self._must_be_writable()
        with self._opened_root() as root, naming_the_cause(str(self.root)):
            warnings = missing_guarantees(root, self._renames)
        return Prepared(warnings, self.sweep_leftovers().kept)

    def expect(self, marker: str) -> None:
        self._marker = marker

    def list(self) -> Listing:
        try:
            with opened_root(self.root) as root:
                listing = list_notes(root, read_ignore(root))
                fault = self._marker_fault(root)
        except OSError as error:
            why = f"vault not readable: {reason(error)}"
            listing, fault = Listing({}), Problem(printable(str(self.root)), why, unread=True)
        if fault is None:
            return listing
        return replace(listing, problems=[*listing.problems, fault], complete=False)

    def stat(self, path: NotePath) -> FileStat:
        with self._opened_parent(path) as (parent, name):
            return file_stat(path, regular_stat(parent, name, path), time.time_ns())

    def glance(self, path: NotePath) -> str | None:
        # This takes one system call, where opening each folder takes a handful. An equal signature proves that this is
        # the same file, even if a link leads to it.
        try:
            found = os.lstat(f"{self.root}/{path}")
        except (OSError, ValueError):
            return None
        return file_stat(path, found, 0).signature if stat.S_ISREG(found.st_mode) else None

    def read(self, path: NotePath, *, limit_bytes: int | None = None, beginning: bool = False) -> Blob:
        with self._opened_parent(path) as (parent, name), opened_file(parent, name, path) as (descriptor, found):
            return read_stable(path, descriptor, found, limit_bytes, beginning=beginning)

    def write(self, path: NotePath, data: bytes, expected: Etag | None, *, portable: bool = True) -> WriteReceipt:
        self._must_be_writable()
        if expected is not None:
            return self._replace(path, data, expected)
        validate_new(path, portable=portable)
        with naming_the_cause(path):
            return _again_if_the_folder_vanishes(lambda: self._create(path, data, portable=portable))

    def move(self, source: NotePath, target: NotePath) -> None:
        self._must_be_writable()
        validate_existing(source)
        validate_new(target)
        with naming_the_cause(source):
            _again_if_the_folder_vanishes(lambda: self._move(source, target))

    def remove_generated(self, path: NotePath, expected: Etag) -> None:
        """Remove the file, as in the contract. The file is kept until `settle`; until then its folder is not empty."""
        self._must_be_writable()
        with (
            self._opened_parent(path) as (parent, name),
            self._locks.hold(path),
            opened_file(parent, name, path) as (descriptor, found),
        ):
            old = compare(path, descriptor, found, expected)
            self._publisher.remove(PublishTarget(parent, split(path)[0], name), old)

    def rmdir_empty(self, folder: NotePath) -> bool:
        self._must_be_writable()
        above, name = split(validate_existing(folder))
        with naming_the_cause(folder), self._opened_root() as root:
            try:
                with opened_folder(root, above) as parent:
                    if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                        return False
                    os.rmdir(name, dir_fd=parent)
                    self._folders.forget(folder)
                    sync(parent)
            except (NotFound, FileNotFoundError):
                return False
            except OSError as error:
                if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
                    return False
                raise
        return True

    def erase(self, path: NotePath, expected: Etag, rest: bytes | None = None) -> WriteReceipt | None:
        written = None
        if rest is None:
            self.remove_generated(path, expected)
        else:
            written = self.write(path, rest, expected)
        self.erase_displaced(path)
        with self._opened_parent(path) as (parent, _):
            sync(parent)
        return written

    def erase_displaced(self, path: NotePath) -> None:
        self.settle(min_age_s=0, path=path)
        # None of our own writes uses a file that is older than this back end, however young the file is.
        self.sweep_leftovers(min_age_s=min(YOUNG_S, time.monotonic() - self._opened_s))

    def settle(self, *, min_age_s: float = 1.0, path: NotePath | None = None) -> builtins.list[NotePath]:
        due = self._publisher.due(min_age_s, *(split(path) if path else ()))
        copies: builtins.list[NotePath] = []
        while due:
            held = due[0]
            try:
                with (
                    self._opened_root() as root,
                    naming_the_cause(held.folder_path),
                    opened_folder(root, held.folder_path) as at,
                ):
                    copy = self._publisher.look_again(at, held)
            except (NotFound, PathRefused):
                copy = None  # the folder was moved or removed, and the file with it: at most a leftover
            except StorageFailed:
                self._publisher.hold_again([*due[1:], held])
                raise
            due.pop(0)
            if copy is not None:
                copies.append(_in(held.folder_path, copy))
        return copies

    def sweep_leftovers(self, *, min_age_s: float = YOUNG_S) -> LeftoverSweep:
        """Clean up after interrupted writes of any process, except files younger than `min_age_s` or in use.

        Takes as long as a listing."""
        self._must_be_writable()
        with self._opened_root() as root, naming_the_cause(str(self.root)):
            return sweep(root, self._renames, self._locks, min_age_s)

    def _create(self, path: NotePath, data: bytes, *, portable: bool) -> WriteReceipt:
        folder, name = split(path)
        etag = etag_of(data)
        with (
            self._opened_root() as root,
            self._folders.opened(root, folder, make=True) as parent,
            self._locks.hold(path),
        ):
            if portable and (other := twin(parent, name)) is not None:
                raise already_exists(path, other)
            try:
                found = self._publisher.create(PublishTarget(parent, folder, name), data, etag)
            except FileExistsError:
                raise already_exists(path, name) from None
        return WriteReceipt(etag, unsettled(file_stat(path, found, time.time_ns())))

    def _replace(self, path: NotePath, data: bytes, expected: Etag) -> WriteReceipt:
        folder, name = split(validate_existing(path))
        if not is_note(name):
            raise PathRefused(f"'{printable(path)}' does not end in .md", hint="only notes are written")
        etag = etag_of(data)
        with (
            naming_the_cause(path),
            self._opened_root() as root,
            self._folders.opened(root, folder) as parent,
            self._locks.hold(path),
            opened_file(parent, name, path) as (descriptor, found),
        ):
            old = compare(path, descriptor, found, expected)
            now, conflict = self._publisher.replace(PublishTarget(parent, folder, name), data, etag, old)
        copy = None if conflict is None else _in(folder, conflict)
        return WriteReceipt(etag, unsettled(file_stat(path, now, time.time_ns())), copy)

    def _move(self, source: NotePath, target: NotePath) -> None:
        source_folder, source_name = split(source)
        target_folder, target_name = split(target)
        with self._opened_root() as root, self._folders.opened(root, source_folder) as from_folder:
            regular_stat(from_folder, source_name, source)
            with self._folders.opened(root, target_folder, make=True) as to_folder, self._locks.hold(source, target):
                regular_stat(from_folder, source_name, source)
                same_folder = os.path.sameopenfile(from_folder, to_folder)
                other = twin(to_folder, target_name)
                if other is not None and not (same_folder and other == source_name != target_name):
                    raise already_exists(target, other)
                self._rename((from_folder, source_name), (to_folder, target_name), target)

    def _rename(self, old: tuple[int, str], new: tuple[int, str], target: NotePath) -> None:
        """Rename once, then sync both folders, the new one first, so that no crash leaves the file without a name."""
        try:
            move_free(self._renames, *old, *new)
        except FileExistsError:
            # A case-folding file system shows the file itself under its new spelling.
            if not os.path.samestat(regular_stat(*old, old[1]), regular_stat(*new, target)):
                raise already_exists(target, new[1]) from None
            self._renames.rename(*old, *new)
        try:
            sync(new[0])
            sync(old[0])
        except OSError:
            with suppress(OSError):
                move_free(self._renames, *new, *old)
            raise

    @contextmanager
    def _opened_root(self) -> Generator[int]:
        with ExitStack() as opened:
            with naming_the_cause(f"vault folder {self.root}"):
                root = opened.enter_context(opened_root(self.root))
            yield root

    @contextmanager
    def _opened_parent(self, path: NotePath) -> Generator[tuple[int, str]]:
        """Open the folder of an existing path, and return it with the name in it. Turns every OSError of the block into
        StorageFailed."""
        folder, name = split(validate_existing(path))
        with naming_the_cause(path), self._opened_root() as root, opened_folder(root, folder) as parent:
            yield parent, name

    def _marker_fault(self, root: int) -> Problem | None:
        if self._marker is None:
            return None
        folder, name = split(self._marker)
        try:
            with opened_folder(root, folder) as parent:
                regular_stat(parent, name, self._marker)
                return None
        except McpMemoryError as error:
            return Problem(self._marker, f"the vault's marker is missing: {error.message}")
        except OSError as error:
            return Problem(self._marker, f"the vault's marker is not readable: {reason(error)}")

    def _must_be_writable(self) -> None:
        if self.read_only:
            raise Refused(f"'{printable(str(self.root))}' is a read-only source", hint="write to the vault instead")


def _again_if_the_folder_vanishes(call: Callable[[], _Result]) -> _Result:
    """Try again if an empty folder is removed between our making it and using it."""
    for _ in range(_MAX_TRIES - 1):
        with suppress(FileNotFoundError):
            return call()
    return call()


def _in(folder: str, name: str) -> NotePath:
    return NotePath(f"{folder}/{name}" if folder else name)
