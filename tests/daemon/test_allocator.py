"""One arena for all threads: what one of them frees, another one uses."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

THREADS = """
import re, subprocess, sys, threading
from mcp_memory.daemon.allocator import share_one_arena
if sys.argv[1] == "shared":
    assert share_one_arena()
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
def work(gate):
    held = [libc.malloc(500) for _ in range(100)]
    gate.wait()
gate = threading.Barrier(9)
threads = [threading.Thread(target=work, args=(gate,)) for _ in range(8)]
for thread in threads:
    thread.start()
gate.wait()
libc.malloc_stats()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")
@pytest.mark.parametrize(("how", "one"), [("shared", True), ("usual", False)])
def test_threads_share_one_arena(how: str, one: bool) -> None:
    told = subprocess.run([sys.executable, "-c", THREADS, how], capture_output=True, text=True, check=True).stderr
    assert (told.count("Arena ") == 1) is one, told
