"""Sessions that search and append without pause: how much longer than the median one of them waits."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

import anyio

from mcp_memory.core.config import EngineConfig
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.engine.factory import open_engine
from mcp_memory.errors import McpMemoryError
from tests.benchmarks.figures import Figure
from tests.support.keyword_engine import KeywordEngine

SESSIONS, SECONDS, NOTES = 64, 20.0, 500
SUBJECTS = ("kiln", "glaze", "wheel", "clay", "slip", "bisque", "raku", "slab")


def fairness() -> Iterator[Figure]:
    """Yields ratios, which hold on a busy machine, too."""
    times, failed = anyio.run(_measured)
    middle = median(times)
    about = f"{SESSIONS} sessions, {len(times)} searches"
    yield Figure("search without pause, 99th / median", quantiles(times, n=100)[98] / middle, "×", 3, about=about)
    yield Figure("search without pause, longest / median", max(times) / middle, "×", 4, about=about)
    yield Figure("search without pause, failed", failed, "", 0, about=about)


async def _measured() -> tuple[list[float], int]:
    times, failed = list[float](), 0

    async def session(engine: KeywordEngine, number: int, until: float) -> None:
        nonlocal failed
        turn = number
        while time.perf_counter() < until:
            turn += 1
            subject = SUBJECTS[turn % len(SUBJECTS)]
            if turn % 5 == 0:
                await engine.append(f"Session {number} fired the {subject} for the {turn}th time.", kind="log")
                continue
            began = time.perf_counter()
            try:
                await engine.search(f"how hot is the {subject} of session {number}?")
            except McpMemoryError:
                failed += 1
            times.append(time.perf_counter() - began)

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        off = EmbedderConfig(provider="none")
        config = EngineConfig(root=root / "vault", state=root / "state", models=root / "models", embedder=off)
        async with open_engine(config) as opened:
            engine = KeywordEngine(opened)
            for number in range(NOTES):
                await engine.append(f"The {SUBJECTS[number % 8]} of firing {number} needs {900 + number} degrees.")
            await engine.settled()
            until = time.perf_counter() + SECONDS
            async with anyio.create_task_group() as tasks:
                for number in range(SESSIONS):
                    tasks.start_soon(session, engine, number, until)
    return times, failed
