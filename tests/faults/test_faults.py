"""Promises D1 and D3: a kill or an error at any call loses no answered write, tears nothing, says so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD and /proc/self/fd: Linux only"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is needed to build the fault shim"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """In memory where there is such a place: a thousand cases on a disk take a minute."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path / "case"
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        yield Path(place) / "case"


def drive(
    shim: Path, scenario: str, folder: Path, actions: list[str], driver: str = "driver"
) -> tuple[dict, list[dict]]:
    result = subprocess.run(
        [sys.executable, "-m", f"tests.faults.{driver}", scenario, str(folder), *actions],
        env={**os.environ, "LD_PRELOAD": str(shim)},
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    *broken, summary = [json.loads(line) for line in result.stdout.splitlines()]
    return summary, broken


@pytest.mark.parametrize(
    ("scenario", "least_calls"),
    [
        ("write-new", 15), ("write-new-by-link", 15), ("write-new-plain", 15), ("write-over", 10),
        ("write-over-in-steps", 10), ("write-over-by-link", 10), ("write-over-plain", 10), ("move", 12), ("remove", 6),
    ],
)  # fmt: skip
def test_every_fault_at_every_call(shim: Path, folder: Path, scenario: str, least_calls: int) -> None:
    summary, broken = drive(shim, scenario, folder, [])
    assert broken == []
    assert summary["calls"] >= least_calls
    assert summary["outcomes"]["killed"] == 2 * summary["calls"]
    assert summary["outcomes"]["refused"] >= summary["calls"]


@pytest.mark.parametrize("scenario", ["naive", "careless"])
def test_a_wrong_writer_is_seen_to_be_wrong(shim: Path, folder: Path, scenario: str) -> None:
    summary, broken = drive(shim, scenario, folder, ["kill-after", "short"])
    assert summary["broken"] == len(broken) > 0


@pytest.mark.parametrize(
    ("scenario", "stride"),
    [
        ("append", 6), ("append-superseding", 6), ("append-entry", 6), ("forget", 3), ("forget-entry", 6),
        ("restore", 3), ("restore-entry", 6), ("edit", 6), ("edit-entry", 6), ("archive", 6), ("unarchive", 6),
        ("remember", 6), ("replace-entry", 6), ("take-out-entry", 6), ("put-back-entry", 6), ("settings", 1),
        ("settings-locked", 2), ("settings-take-out", 1), ("settings-create", 1), ("settings-remove", 1),
    ],
)  # fmt: skip
def test_what_is_refused_is_not_done_and_what_is_answered_is(
    shim: Path, folder: Path, scenario: str, stride: int
) -> None:
    stride = 1 if os.environ.get("MCP_MEMORY_EXHAUSTIVE") else stride
    summary, broken = drive(shim, scenario, folder, [str(stride)], "vault_driver")
    assert broken == [], f"{len(broken)} of {summary['cases']}"
    assert summary["refused"] >= summary["calls"] // 3
    assert summary["cases"] > summary["calls"] // 2
