"""A transcript of any size: work goes with what was said in it, memory with neither."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_memory.capture import step
from mcp_memory.capture.readers import registry
from tests.capture.taken import Desk
from tests.capture.written import line, result, use

pytestmark = pytest.mark.anyio

ROUNDS = 60
OUTPUT = "src/harbour/pier.py:12:    moor(self, rope)\n" * 5000
REQUEST = b'{"type":"api-request","sessionId":"s-1","params":"' + b"x" * 500_000 + b'"}\n'


@contextmanager
def at_most(allowed: int) -> Generator[None]:
    """Bytes that Python holds at any moment more than now."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < allowed


async def test_what_nobody_said_costs_next_to_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As in real sessions: nearly all of it is what tools gave back and what the program notes down for itself."""
    desk = Desk(tmp_path)
    with desk.file().open("wb") as out:
        for n in range(ROUNDS):
            out.write(line(4 * n, f"message-{n} " + "word " * 50) + REQUEST)
            out.write(use(4 * n + 1, f"call-{n}", "Bash") + result(4 * n + 2, f"call-{n}", OUTPUT))
    size = desk.file().stat().st_size
    parsed, looked_through = list[int](), list[int]()
    loads, redact = json.loads, step.redact
    monkeypatch.setattr(registry.json, "loads", lambda text: (parsed.append(len(text)), loads(text))[1])
    monkeypatch.setattr(step, "redact", lambda text: (looked_through.append(len(text)), redact(text))[1])
    with at_most(size // 4):
        taken = await desk.take(desk.file())
    assert [text.partition(" ")[0] for text in desk.texts() if text != "ok"] == [f"message-{n}" for n in range(ROUNDS)]
    assert desk.texts().count("ok") == ROUNDS
    assert sum(len(told.messages) for told in desk.heard) == sum(each.messages for each in taken) == 2 * ROUNDS
    checkpoints = sum(each.stat().st_size for each in (desk.state / "checkpoints").iterdir())
    assert checkpoints < 20_000
    assert sum(parsed) < size - ROUNDS * 500_000 + len(taken) * 2 * checkpoints, (
        "requests of the program are not parsed"
    )
    assert sum(looked_through) < ROUNDS * 400, "nor are tools' answers looked through for secrets"
    assert len(taken) < size / 2_000_000, "and a step goes farther for it"


async def test_a_line_longer_than_memory_allows(tmp_path: Path):
    desk = Desk(tmp_path)
    with desk.file().open("wb") as out:
        out.write(line(1, "before"))
        out.write(line(2, "long")[:-3])
        out.seek(90_000_000, 1)  # sparse: it costs no disk
        out.write(b'"}\n' + line(3, "after"))
    with at_most(50_000_000):
        taken = await desk.take(desk.file())
    assert desk.texts() == ["before", "after"]
    assert sum(each.unreadable for each in taken) == 1
    assert len(taken) < 10
