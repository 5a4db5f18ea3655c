"""Invariant 1: what was answered survives kill -9 at any moment, whole, and is found after the next start."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.world import EXHAUSTIVE, REPOSITORY


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not shutil.which("gcc"), reason="the fault shim: Linux, gcc"
)
@pytest.mark.parametrize(
    ("act", "least_calls"),
    [
        ("append", 20),
        ("supersede", 40),
        ("log", 20),
        ("forget", 15),
        ("restore", 10),
        ("replace", 25),
        ("edit", 15),
        ("compact", 200),
        ("tend", 60),
        ("dream", 60),
        ("topic-rename", 150),
        ("topic-move", 150),
        ("topic-merge", 150),
        ("topic-split", 100),
    ],
)
def test_every_call_of_a_whole_write(shim: Path, fast_folder: Path, act: str, least_calls: int) -> None:
    """The vault's, the ledger's and the undo folder's calls together."""
    actions = ["kill-before", "kill-after", "ENOSPC", "EIO", "EROFS", "short"] if EXHAUSTIVE else ["kill-after"]
    if not EXHAUSTIVE and least_calls < 60:  # a compaction makes hundreds
        actions.append("ENOSPC")
    stride = 1 if EXHAUSTIVE else 48 if act.startswith("topic-") else 2 if act == "compact" else 1
    result = subprocess.run(
        [sys.executable, "-m", "tests.promises.faulty", act, fast_folder, str(stride), *actions],
        env={**os.environ, "LD_PRELOAD": str(shim)},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    *broken, summary = [json.loads(line) for line in result.stdout.splitlines()]
    assert broken == []
    assert summary["calls"] >= least_calls
    assert summary["outcomes"]["killed"] == (2 if EXHAUSTIVE else 1) * -(-summary["calls"] // stride)
