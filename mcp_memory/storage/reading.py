"""What is read from an open file: its bytes, and a stat that surely belongs to them."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import replace

from mcp_memory.errors import Refused
from mcp_memory.models import Etag, FileStat, NotePath
from mcp_memory.storage.base import Blob
from mcp_memory.storage.folders import BLOCK_BYTES
from mcp_memory.storage.paths import printable

_MAX_TRIES = 5
"""How often a file is read again while it changes under the reading."""

GRAIN_NS = 100_000_000
"""Two changes within one tick of a file system's clock may leave the same time; the tick is 1 to 10 ms on Linux."""

COARSE_GRAIN_NS = 2_100_000_000
"""For times in whole seconds: FAT counts in steps of 2 s, some network shares in steps of 1 s."""


def file_stat(path: str, found: os.stat_result, now_ns: int) -> FileStat:
    """The stat of a file as listings and reads show it; `now_ns` is the wall clock when it was taken.

    The clock decides only about being close to it, on either side, so a wrong clock costs a read and hides nothing.
    """
    size, modified, changed = found.st_size, found.st_mtime_ns, found.st_ctime_ns
    newest = modified if modified > changed else changed
    settled = now_ns - newest >= COARSE_GRAIN_NS or (_is_far(modified, now_ns) and _is_far(changed, now_ns))
    return FileStat(NotePath(path), size, modified, f"{found.st_ino}-{size}-{modified}-{changed}", settled)


def unsettled(found: FileStat) -> FileStat:
    """The same stat, to be taken as too young: whoever compares signatures must read the file."""
    return replace(found, settled=False)


def read_stable(path: NotePath, descriptor: int, found: os.stat_result, limit_bytes: int | None) -> Blob:
    """The bytes with a stat that belongs to them: read again while the file changes under the reading."""
    for last in (False,) * (_MAX_TRIES - 1) + (True,):
        data = _read_all(path, descriptor, found.st_size, limit_bytes)
        after = os.fstat(descriptor)
        same = (after.st_size, after.st_mtime_ns, after.st_ctime_ns) == (
            found.st_size, found.st_mtime_ns, found.st_ctime_ns,
        )  # fmt: skip
        if same or last:
            stat_now = file_stat(path, after, time.time_ns())
            return Blob(data, Etag(hashlib.sha256(data).hexdigest()), stat_now if same else unsettled(stat_now))
        found = after
    raise AssertionError("unreachable")


def _read_all(path: str, descriptor: int, size_bytes: int, limit_bytes: int | None) -> bytes:
    if limit_bytes is not None and size_bytes > limit_bytes:
        raise _too_large(path, limit_bytes)
    blocks: list[bytes] = []
    offset = 0
    while block := os.pread(descriptor, min(BLOCK_BYTES, max(size_bytes - offset, 4096) + 1), offset):
        blocks.append(block)
        offset += len(block)
        if limit_bytes is not None and offset > limit_bytes:
            raise _too_large(path, limit_bytes)
    return b"".join(blocks)


def _too_large(path: str, limit_bytes: int) -> Refused:
    return Refused(f"'{printable(path)}' is larger than {limit_bytes} bytes", hint="split it, or raise the limit")


def _is_far(moment_ns: int, now_ns: int) -> bool:
    age = abs(now_ns - moment_ns)
    return age >= COARSE_GRAIN_NS or (age >= GRAIN_NS and moment_ns % 1_000_000_000 != 0)
