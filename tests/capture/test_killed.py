"""Killed at any call that a capture makes into the file system: no message is lost, none is kept twice."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.capture.taken import Desk
from tests.capture.written import line
from tests.support.world import EXHAUSTIVE, REPOSITORY

NEVER = 1_000_000


def told(process: subprocess.Popen[str], moment: int) -> str:
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"{moment}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def transcript(rounds: int) -> list[bytes]:
    """Of each round a part that fills a leaf and begins another."""
    return [
        b"".join(line(10 * part + n, f"message-{10 * part + n} " + "word " * 400) for n in range(6))
        for part in range(rounds)
    ]


def test_killed_at_every_call(tmp_path: Path):
    desk = Desk(tmp_path)
    parts = transcript(200)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.capture.killed", str(tmp_path)],
        cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        desk.file().write_bytes(parts[0])
        told(process, NEVER)
        desk.file().write_bytes(b"".join(parts[:2]))
        calls = int(told(process, NEVER))
        assert calls > 10
        written, kills = 2, 0
        for moment in range(1, calls + 1, 1 if EXHAUSTIVE else 2):
            written += 1
            desk.file().write_bytes(b"".join(parts[:written]))
            kills += told(process, moment) == "KILLED"
        assert told(process, NEVER) != "KILLED"
        process.stdin.close()
    assert kills > calls // 4
    said = [int(number) for leaf in _in_order(desk) for number in re.findall(r"message-(\d+)", leaf)]
    assert said == [10 * part + n for part in range(written) for n in range(6)]
    # The hearer may hear some again, but as they were, and none is missing.
    heard = [tuple(json.loads(each)) for each in (tmp_path / "heard.jsonl").read_text().splitlines()]
    assert [int(text.split()[0].removeprefix("message-")) for _, text in sorted(set(heard))] == said


def _in_order(desk: Desk) -> list[str]:
    return [text.partition("\n## ")[2] for text in desk.leaves().values()]
