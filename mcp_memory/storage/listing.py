"""List every note below a folder by name and signature, without opening one, and read a file with a stat that surely
belongs to its bytes.

Links are never followed and hidden folders never entered. A file that can't be used is a `Problem`, never an
exception: one odd name must not hide the rest.
"""

import os
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from mcp_memory.errors import McpMemoryError, NotFound, Refused
from mcp_memory.models import FileStat, NotePath, Problem, etag_of
from mcp_memory.runtime.private_files import reason
from mcp_memory.storage.base import Blob, FolderId, Listing
from mcp_memory.storage.folders import BLOCK_BYTES, kind, open_child, opened_file
from mcp_memory.storage.path_rules import (
    IGNORE_FILE,
    MAX_COMPONENT_BYTES,
    MAX_DEPTH,
    MAX_FILE_BYTES,
    MAX_PATH_BYTES,
    SKIPPED_FOLDERS,
    IgnoreRules,
    is_note,
    parse_ignore,
    unnameable,
)
from mcp_memory.text.escape_invisible import printable

_MAX_TRIES = 5  # while the file changes during the read
GRAIN_NS = 100_000_000  # two changes within a tick of the file system's clock may look alike; it is 1 to 10 ms on Linux
COARSE_GRAIN_NS = 2_100_000_000  # for times in whole seconds: FAT has steps of 2 s, some network shares of 1 s


def file_stat(path: str, found: os.stat_result, now_ns: int) -> FileStat:
    """Return the stat of a file as listings and reads have it; `now_ns` is the wall clock when it was taken.

    A file is unsettled if its time is near the clock, on either side, so a wrong clock costs a read and hides no
    change."""
    modified, changed = found.st_mtime_ns, found.st_ctime_ns
    newest = modified if modified > changed else changed
    settled = now_ns - newest >= COARSE_GRAIN_NS or (_is_far(modified, now_ns) and _is_far(changed, now_ns))
    return FileStat(NotePath(path), f"{found.st_ino}-{found.st_size}-{modified}-{changed}", found.st_size, settled)


def unsettled(found: FileStat) -> FileStat:
    """Return the stat marked as too young, so that a comparison of signatures must read the file."""
    return replace(found, settled=False)


def read_stable(
    path: NotePath, descriptor: int, found: os.stat_result, limit_bytes: int | None, *, beginning: bool = False
) -> Blob:
    """Return the bytes with their stat; read again if the file changes meanwhile.

    Raises Refused for more than `limit_bytes`, unless `beginning` asks for no more than that."""
    for last in (False,) * (_MAX_TRIES - 1) + (True,):
        data = _read_all(descriptor, found.st_size, None if limit_bytes is None else limit_bytes + 1)
        whole = limit_bytes is None or len(data) <= limit_bytes
        if not whole and not beginning:
            raise Refused(f"'{printable(path)}' is larger than {limit_bytes} bytes", hint="split the file")
        data = data[:limit_bytes]
        after = os.fstat(descriptor)
        same = (after.st_size, after.st_mtime_ns, after.st_ctime_ns) == (
            found.st_size, found.st_mtime_ns, found.st_ctime_ns,
        )  # fmt: skip
        if same or last:
            stat_now = file_stat(path, after, time.time_ns())
            etag = etag_of(data)
            return Blob(data, etag, stat_now if same else unsettled(stat_now), whole)
        found = after
    raise AssertionError("unreachable")


def _read_all(descriptor: int, size_bytes: int, most_bytes: int | None) -> bytes:
    blocks: list[bytes] = []
    left, offset = sys.maxsize if most_bytes is None else most_bytes, 0
    while block := os.pread(descriptor, min(BLOCK_BYTES, left, max(size_bytes - offset, 4096) + 1), offset):
        blocks.append(block)
        offset += len(block)
        left -= len(block)
    return b"".join(blocks)


def _is_far(moment_ns: int, now_ns: int) -> bool:
    age = abs(now_ns - moment_ns)
    return age >= COARSE_GRAIN_NS or (age >= GRAIN_NS and moment_ns % 1_000_000_000 != 0)


def read_ignore(root: int) -> IgnoreRules | None:
    """Return the rules of the root's `.memoryignore`, if it has one that can be read."""
    try:
        with opened_file(root, IGNORE_FILE, IGNORE_FILE) as (descriptor, _):
            return parse_ignore(os.read(descriptor, MAX_FILE_BYTES + 1))
    except NotFound:
        return None
    except (McpMemoryError, OSError) as error:
        why = reason(error) if isinstance(error, OSError) else error.message
        return IgnoreRules(lambda _: False, (Problem(IGNORE_FILE, f"not used: {why}"),))


def list_notes(root: int, rules: IgnoreRules | None) -> Listing:
    """List all notes below the open folder `root`."""
    sweep = _Sweep(rules.matches if rules else None)
    sweep.problems.extend(rules.problems if rules else ())
    sweep.visit(root, "", 0)
    return Listing(sweep.files, sweep.problems, sweep.ignored, folders=sweep.folders)


class _Sweep:
    """A depth-first walk, so that only one descriptor per level is open."""

    def __init__(self, ignores: Callable[[str], bool] | None) -> None:
        self.files: dict[NotePath, FileStat] = {}
        self.folders: dict[NotePath, FolderId] = {}
        self.problems: list[Problem] = []
        self.ignored = 0
        self._ignores = ignores
        self._now_ns = time.time_ns()

    def visit(self, folder: int, prefix: str, depth: int, *, all_ignored: bool = False) -> None:
        """List one open folder; `prefix` is its path with a trailing slash."""
        folders: list[str] = []
        try:
            found = os.fstat(folder)
            self.folders[NotePath(prefix.rstrip("/"))] = (found.st_dev, found.st_ino)
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    if name[0] == ".":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(name)
                    elif is_note(name) or entry.is_symlink():
                        self._take(entry, prefix, all_ignored=all_ignored)
        except OSError as error:
            self._report(prefix, f"folder not readable: {reason(error)}", unread=True)
        for name in folders:
            self._enter(folder, name, prefix, depth + 1, all_ignored=all_ignored)

    def _take(self, entry: os.DirEntry[str], prefix: str, *, all_ignored: bool) -> None:
        path = prefix + entry.name
        if all_ignored or (self._ignores is not None and self._ignores(path)):
            self.ignored += is_note(path)
            return
        fault = unnameable(entry.name)
        if fault:
            self._report(path, fault)
            return
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            self._report(path, f"not readable: {reason(error)}", unread=True)
            return
        if stat.S_ISREG(found.st_mode):
            file = file_stat(path, found, self._now_ns)
            self.files[file.path] = file
        else:
            self._report(path, f"is {kind(found.st_mode)}: left out, and never followed")

    def _enter(self, parent: int, name: str, prefix: str, depth: int, *, all_ignored: bool) -> None:
        path = prefix + name
        if name in SKIPPED_FOLDERS:
            return
        fault = unnameable(name) or _too_far(path, depth)
        if fault:
            self._report(path, f"{fault}; nothing in it is read")
            return
        try:
            descriptor = open_child(parent, name, path)
        except NotFound:
            return
        except McpMemoryError as error:
            self._report(path, error.message)
            return
        except OSError as error:
            self._report(path, f"folder not readable: {reason(error)}", unread=True)
            return
        try:
            ignored = all_ignored or (self._ignores is not None and self._ignores(path + "/"))
            self.visit(descriptor, path + "/", depth, all_ignored=ignored)
        finally:
            os.close(descriptor)

    def _report(self, path: str, fault: str, *, unread: bool = False) -> None:
        self.problems.append(Problem(printable(path.rstrip("/") or "."), fault, unread=unread))


def _too_far(path: str, depth: int) -> str | None:
    if depth >= MAX_DEPTH:
        return f"more than {MAX_DEPTH} folders deep"
    if len(path.encode()) > MAX_PATH_BYTES - MAX_COMPONENT_BYTES - 1:
        return f"paths in it may exceed {MAX_PATH_BYTES} bytes"
    return None
