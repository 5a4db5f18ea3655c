"""memory_search over HTTP, beside an empty call of a bare FastMCP tool over the same HTTP."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator

from tests.benchmarks.calls import Timed, Tool, in_turns
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.site import Daemon, bare, indexed

SMALL = Corpus(notes=2_000, entries=5)
LARGE = Corpus(notes=10_000, entries=10)
BULK = Corpus(notes=2_000, entries=5, series="bulk")
"""Minutes of embedding, so that it outlasts the calls beside it."""

CALLS = 1000
CALLS_BESIDE_BULK = 200


def search_10k() -> Iterator[Figure]:
    """A vault of 10,000 chunks, then the same with a bulk index beside it."""
    site = indexed(SMALL)
    with site.daemon() as daemon, bare() as port:
        daemon.until_complete()
        floor, ours = in_turns([_empty(port, SMALL), searching(daemon, SMALL)], CALLS)
        yield from _figures("10,000 chunks", floor, ours, goal=4)
        yield _beside_bulk(daemon)


def search_100k() -> Iterator[Figure]:
    """A vault of 100,000 chunks; nine in ten vectors are made from real ones (see `remembered`)."""
    with indexed(LARGE).daemon() as daemon, bare() as port:
        daemon.until_complete()
        floor, ours = in_turns([_empty(port, LARGE), searching(daemon, LARGE)], CALLS)
        yield from _figures("100,000 chunks", floor, ours, goal=6)


def searching(daemon: Daemon, corpus: Corpus) -> Timed:
    """A search for another question each time."""
    tool = Tool(daemon.port, "memory_search", daemon.token)
    return lambda number: tool.timed({"query": corpus.question(number)})


def _empty(port: int, corpus: Corpus) -> Timed:
    tool = Tool(port, "nothing")
    return lambda number: tool.timed({"query": corpus.question(number)})


def _figures(what: str, floor: list[float], ours: list[float], goal: float) -> Iterator[Figure]:
    base, p50, p99 = percentile(floor, 50) * 1e3, percentile(ours, 50) * 1e3, percentile(ours, 99) * 1e3
    yield Figure(f"memory_search, {what}, p50 (floor: empty call)", p50, "ms", goal, base)
    base99 = percentile(floor, 99) * 1e3
    yield Figure(
        f"memory_search, {what}, p99 (floor: its p50)", p99, "ms", 4, p50, about=f"empty call's p99 {base99:.3g} ms"
    )


def _beside_bulk(daemon: Daemon) -> Figure:
    """Searches while 10,000 more chunks are being indexed, beside those of a minute ago."""
    quiet, _ = in_turns([searching(daemon, SMALL)] * 2, CALLS_BESIDE_BULK)
    folder = daemon.site.vault / BULK.series
    sweep = threading.Thread(target=daemon.connection.call, args=("reconcile", {}), kwargs={"deadline_s": 600})
    try:
        BULK.write(daemon.site.vault)
        sweep.start()
        beside, _ = in_turns([searching(daemon, SMALL)] * 2, CALLS_BESIDE_BULK)
        pending = daemon.status()["pending"]
    finally:
        sweep.join()
        shutil.rmtree(folder)
    return Figure(
        "memory_search beside a bulk index, p50 (floor: quiet)",
        percentile(beside, 50) * 1e3,
        "ms",
        2,
        percentile(quiet, 50) * 1e3,
        about=f"{pending:,} texts still to embed at the end",
    )
