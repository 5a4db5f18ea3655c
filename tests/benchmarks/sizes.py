"""A search in the engine, without the transport, in indexes of 1,000 to 1,000,000 chunks.

Words and vectors are those of `made_up_index`. Questions hold two of the 30 to 150 most frequent words, two middling
and two rare ones, or six frequent ones, and are embedded by the real model. Beside each stands how many empty calls of
a bare FastMCP tool over HTTP it takes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import anyio
import numpy as np

from mcp_memory.daemon.serve import SWITCH_S
from mcp_memory.embedders.base import Embedder, EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.errors import StillReading
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.models import Filters
from mcp_memory.search.searcher import SearchConfig, Searcher
from tests.benchmarks.calls import WARM_UP, Tool, timed
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.made_up_index import RNG, build, words
from tests.benchmarks.site import bare, models
from tests.support.toy import FixedModel

SIZES = (1_000, 10_000, 100_000, 1_000_000)
GOALS_MS = {100_000: 10.0, 1_000_000: 30.0}
OPEN_GOAL_MS, ANSWER_GOAL_MS = 100.0, 150.0
AGAIN_S = 0.02
"""Until who got a poor answer asks again: without a pause there would be no core left to read with."""

CALLS, AT_ONCE, OPENED = 300, 8, 5
ONE_IN_A_HUNDRED = Filters(tags=frozenset({"rare"}))
NO_GOAL = float("inf")
FREQUENT, MIDDLING, RARE = (30, 150), (150, 2000), (2000, 20000)
"""Ranks of words."""

MIXED, COMMON = ((FREQUENT, 2), (MIDDLING, 2), (RARE, 2)), ((FREQUENT, 6),)
"""Kinds of questions: so many words of each kind."""

Search = Callable[[str, Filters], Awaitable[Any]]


def sizes() -> Iterator[Figure]:
    sys.setswitchinterval(SWITCH_S)
    embedder = open_embedder(EmbedderConfig(), models(), lambda line: print(line, file=sys.stderr))
    try:
        for chunks in SIZES:
            with tempfile.TemporaryDirectory() as folder:
                yield from _size(chunks, Path(folder), embedder)
    finally:
        embedder.close()


def _size(chunks: int, folder: Path, embedder: Embedder) -> Iterator[Figure]:
    index = SqliteIndex(folder)
    build(index, chunks, embedder.dimension, embedder.fingerprint)
    index.close()
    opened = [timed(lambda: SqliteIndex(folder).close()) for _ in range(OPENED)]
    yield Figure(f"{chunks:,} chunks: open", percentile(opened, 50) * 1e3, "ms", OPEN_GOAL_MS)
    with bare() as port:
        empty = _empty_ms(port)
    with _opened(folder, embedder) as searcher:
        yield from anyio.run(_cold, searcher, f"{chunks:,} chunks, never read before")
        yield from anyio.run(_searches, searcher, chunks, empty)
    with _opened(folder, embedder) as searcher:
        yield from anyio.run(_cold, searcher, f"{chunks:,} chunks")


@contextmanager
def _opened(folder: Path, embedder: Embedder) -> Iterator[Searcher]:
    index = SqliteIndex(folder)
    try:
        yield Searcher(index, FixedModel(embedder), SearchConfig(), lambda: datetime.now(UTC))
    finally:
        index.close()


async def _cold(searcher: Searcher, name: str) -> list[Figure]:
    """As in a daemon after its first sweep: the index is read while somebody asks."""
    swept, begun = anyio.Event(), time.perf_counter()
    swept.set()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(searcher.warm, swept)
        faults, first = await _faults(searcher), time.perf_counter() - begun
        said = faults or "whole"
        while faults:
            await anyio.sleep(AGAIN_S)
            faults = await _faults(searcher)
        whole = time.perf_counter() - begun
    return [
        Figure(f"{name}: opened until the first answer", first * 1e3, "ms", ANSWER_GOAL_MS, about=said),
        Figure(f"{name}: opened until the first whole answer", whole * 1e3, "ms", NO_GOAL),
    ]


def _empty_ms(port: int) -> float:
    """Median of a call that does nothing."""
    tool = Tool(port, "nothing")
    taken = [tool.timed({"query": _question()}) * 1e3 for _ in range(WARM_UP + CALLS)]
    return percentile(taken[WARM_UP:], 50)


async def _searches(searcher: Searcher, chunks: int, empty_ms: float) -> list[Figure]:
    async def search(question: str, filters: Filters) -> None:
        result = await searcher.search(question, limit=6, filters=replace(filters, now=datetime.now(UTC)))
        if result.degraded:
            raise SystemExit(f"a poorer answer says nothing: {result.degraded}")

    usual = await _timed(search, [_question() for _ in range(CALLS)], Filters())
    common = await _timed(search, [_question(COMMON) for _ in range(CALLS)], Filters())
    narrow = await _timed(search, [_question() for _ in range(CALLS)], ONE_IN_A_HUNDRED)
    crowd: list[list[float]] = []

    async def one_of_many() -> None:
        crowd.append(await _timed(search, [_question() for _ in range(CALLS // AT_ONCE)], Filters()))

    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE):
            tasks.start_soon(one_of_many)
    name, goal = f"{chunks:,} chunks", GOALS_MS.get(chunks, NO_GOAL)
    return [
        _figure(f"{name}: search", usual, goal, empty_ms),
        _figure(f"{name}: search for common words alone", common, NO_GOAL, empty_ms),
        _figure(f"{name}: search of one note in a hundred", narrow, NO_GOAL, empty_ms),
        _figure(f"{name}: search, {AT_ONCE} clients at once", list(chain(*crowd)), NO_GOAL, empty_ms),
    ]


async def _faults(searcher: Searcher) -> str | None:
    """What is missing from an answer, None where nothing is."""
    try:
        return (await searcher.search(_question(), limit=6, filters=Filters())).degraded
    except StillReading as error:
        return f"no answer: {error.message}"


async def _timed(search: Search, questions: Sequence[str], filters: Filters) -> list[float]:
    """Milliseconds of each."""
    taken: list[float] = []
    for question in questions:
        start = time.perf_counter()
        await search(question, filters)
        taken.append((time.perf_counter() - start) * 1e3)
    return taken


def _figure(name: str, taken: Sequence[float], goal: float, empty_ms: float) -> Figure:
    p50, p99 = percentile(taken, 50), percentile(taken, 99)
    about = f"{p50 / empty_ms:.2f} × an empty call; p99 {p99:.3g} ms, {p99 / empty_ms:.2f} ×"
    return Figure(name, p50, "ms", goal, about=about)


def _question(kinds: Iterable[tuple[tuple[int, int], int]] = MIXED) -> str:
    return " ".join(words(np.concatenate([RNG.integers(*ranks, count) for ranks, count in kinds])))
