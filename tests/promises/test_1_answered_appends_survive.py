"""Invariant 1: what was answered survives kill -9 at any moment, whole, and is found after the next start."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.world import EXHAUSTIVE, REPOSITORY

LEAST_CALLS = {
    "append": 20, "supersede": 40, "log": 20, "forget": 15, "restore": 10, "replace": 25, "edit": 15, "compact": 200,
    "tend": 60, "dream": 60, "topic-rename": 150, "topic-move": 150, "topic-merge": 150, "topic-split": 100,
}  # fmt: skip
"""Of the vault, the ledger and the undo folder together, for each act."""


def stride(act: str) -> int:
    return 1 if EXHAUSTIVE else 48 if act.startswith("topic-") else 2 if act == "compact" else 1


def actions(act: str) -> list[str]:
    if EXHAUSTIVE:
        return ["kill-before", "kill-after", "ENOSPC", "EIO", "EROFS", "short"]
    return ["kill-after", "ENOSPC"] if LEAST_CALLS[act] < 60 else ["kill-after"]  # a compaction makes hundreds


@pytest.fixture(scope="module")
def figures(shim: Path) -> dict[str, dict[str, Any]]:
    """By act. One process tries all: to start under the shim takes longer than most of them. In memory where that is
    possible: kills and errors are what is tried here, not power cuts."""
    memory = Path("/dev/shm")
    orders = [f"{act}:{stride(act)}:{','.join(actions(act))}" for act in LEAST_CALLS]
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        result = subprocess.run(
            [sys.executable, "-m", "tests.promises.faulty", folder, *orders],
            env={**os.environ, "LD_PRELOAD": str(shim)}, cwd=REPOSITORY, capture_output=True, text=True,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return {said["act"]: said for said in map(json.loads, result.stdout.splitlines())}


@pytest.mark.timeout(600)  # the first of them tries all acts
@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not shutil.which("gcc"), reason="the fault shim: Linux, gcc"
)
@pytest.mark.timeout(0 if EXHAUSTIVE else 300)
@pytest.mark.parametrize("act", LEAST_CALLS)
def test_every_call_of_a_whole_write(figures: dict[str, dict[str, Any]], act: str) -> None:
    tried = figures[act]
    assert tried["broken"] == []
    assert tried["calls"] >= LEAST_CALLS[act]
    assert tried["outcomes"]["killed"] == (2 if EXHAUSTIVE else 1) * -(-tried["calls"] // stride(act))
