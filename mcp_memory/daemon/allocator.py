"""The C allocator of a process that lives long."""

from __future__ import annotations

import ctypes
import sys

M_ARENA_MAX = -8
"""From glibc's malloc.h."""


def share_one_arena() -> bool:
    """Let all threads take their memory from one place; whether the C library does that. To be called before there
    are threads.

    glibc gives each thread an arena of its own, and what one of them freed no other uses: with 10,000 notes after
    1,000 searches that was 15 of 250 MB. Python's own allocator and numpy's large arrays do not go through it, so
    hardly anybody waits.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    return bool(mallopt and mallopt(M_ARENA_MAX, 1))
