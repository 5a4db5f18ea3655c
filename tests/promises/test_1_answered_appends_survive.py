"""Invariant 1: what was answered survives kill -9 at any moment, whole, and is found after the next start."""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_memory.text.markdown import logs
from tests.support.world import EXHAUSTIVE, REPOSITORY, World, more, records

LIVES = more(12)


@pytest.mark.anyio
async def test_a_killed_engine_has_kept_every_receipt(world: World) -> None:
    chance = random.Random(1)
    command = [sys.executable, "-m", "tests.promises.appender", world.root, world.state]
    receipts: list[dict] = []
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as lives:
        for life in range(LIVES):
            receipts += one_life(lives, life, chance.randrange(12), chance.random() * 0.01)
        lives.stdin.close()
    assert len(receipts) > LIVES
    async with world.engine() as engine:
        files, known = world.files(), {record.id: record for record in records(engine)}
        for receipt in receipts:
            assert receipt["path"] in files
            if "#" in receipt["id"]:
                entries = logs.entries(files[receipt["path"]].decode(), 0)
                assert receipt["id"].endswith(tuple(entry.hash for entry in entries))
            else:
                record = known[receipt["id"]]
                assert record.etag == receipt["etag"] or record.state == "archived"
                assert f"{receipt['word']} was said\n".encode() in files[record.path]
        for receipt in chance.sample(receipts, min(len(receipts), 60)):
            hits = (await engine.search(receipt["word"], include_archived=True, mode="keyword")).hits
            assert receipt["id"] in [hit.id for hit in hits]
        assert await engine.problems() == {}
        assert world.vault().ledger.damaged_lines <= LIVES
    assert not [path for path in files if "conflict" in path]


def one_life(lives: subprocess.Popen, life: int, answers: int, wait_s: float) -> list[dict]:
    """The receipts of an engine that was killed after so many answers and a moment."""
    lives.stdin.write(f"{life}\n")
    lives.stdin.flush()
    receipts: list[dict] = []
    killed, pid = False, 0
    for line in lives.stdout:
        if line.startswith("PID"):
            pid = int(line.split()[1])
        elif line.startswith("DEAD"):
            return receipts
        elif line.startswith("{"):
            receipts.append(json.loads(line))
        if pid and not killed and len(receipts) >= answers:
            select.select([], [], [], wait_s)  # so that the kill comes at no particular call
            os.kill(pid, signal.SIGKILL)
            killed = True
    raise AssertionError("the appender ended")


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
