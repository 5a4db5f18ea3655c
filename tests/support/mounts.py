"""Mounting, where root may."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def mount(*arguments: object) -> None:
    if os.geteuid():
        pytest.skip("only root may mount")
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not possible here: {done.stderr.strip()}")


@contextmanager
def unmounted_at_last(folder: Path) -> Iterator[None]:
    try:
        yield
    finally:
        while subprocess.run(["umount", "-l", folder], capture_output=True).returncode == 0:
            pass


def permit(folder: Path, writing: bool) -> None:
    """By a mount where modes do not bind us."""
    if os.geteuid():
        folder.chmod(0o755 if writing else 0o555)
    else:
        mount("-o", f"remount,{'rw' if writing else 'ro'},bind", folder)
