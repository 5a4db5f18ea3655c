"""File descriptors: the soft limit is raised as far as needed, and fewer connections fit below a hard one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.daemon.place import CHECKOUT

ASK = (
    "import resource, sys; from mcp_memory.daemon.connections import connections_that_fit\n"
    "resource.setrlimit(resource.RLIMIT_NOFILE, tuple(map(int, sys.argv[1:])))\n"
    "print(connections_that_fit(512, accepted_at_once=64), resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
)


@pytest.mark.parametrize(
    ("soft", "hard", "fit", "raised_to"),
    [(1024, 4096, 512, 1024), (64, 4096, 512, 1024), (64, 800, 288, 800), (64, 64, 16, 64), (200, 320, 80, 320)],
)
def test_as_many_connections_as_files_allow(soft: int, hard: int, fit: int, raised_to: int):
    asked = subprocess.run(
        [sys.executable, "-c", ASK, str(soft), str(hard)], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert tuple(map(int, asked.stdout.split())) == (fit, raised_to)
