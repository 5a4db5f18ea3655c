"""What the C library keeps for itself: one arena for all threads, and nothing that was freed long ago."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

THREADS = """
import re, subprocess, sys, threading
from mcp_memory.runtime.allocator import share_one_arena
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


HOLES = """
import ctypes
from pathlib import Path
from mcp_memory.runtime.allocator import give_back
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
held = [libc.malloc(20_000) for _ in range(4000)]
for place in held:
    ctypes.memset(place, 1, 20_000)
for at, place in enumerate(held):
    if at % 100:  # what is left keeps the arena from shrinking at its end
        libc.free(place)
before = resident()
give_back()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps so much")
def test_what_was_freed_goes_back_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 50_000_000
