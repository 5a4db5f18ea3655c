"""Read an open file's bytes with a stat that surely belongs to them."""

import os
import sys
import time
from dataclasses import replace

from mcp_memory.errors import Refused
from mcp_memory.models import FileStat, NotePath, etag_of
from mcp_memory.storage.base import Blob
from mcp_memory.storage.folders import BLOCK_BYTES
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
