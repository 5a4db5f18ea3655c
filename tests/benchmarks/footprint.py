"""What a daemon over 10,000 notes takes of the machine: memory and descriptors in use, processor time at rest."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psutil

from tests.benchmarks.corpus import Corpus
from tests.benchmarks.figures import Figure
from tests.benchmarks.search import searching
from tests.benchmarks.site import indexed
from tests.support.constants import with_constants

MANY = Corpus(notes=10_000, entries=2, series="many")
SEARCHES = 1000
FIRST_SEARCHES = 100
"""After these the daemon has opened what it keeps open."""

MOST_LEFT_OPEN = 5
REST_S = 60.0
SOON_IDLE = with_constants(watch_idle_after_s=0.1)
"""A daemon that takes itself for idle at once, not only five minutes after the last question."""


def footprint() -> Iterator[Figure]:
    """10,000 notes: memory and descriptors around 1,000 searches, then processor time of a daemon nobody asks."""
    site = indexed(MANY)
    with site.daemon() as daemon:
        daemon.until_complete()
        search, process = searching(daemon, MANY), psutil.Process(daemon.pid)
        for number in range(FIRST_SEARCHES):
            search(number)
        open_before = process.num_fds()
        for number in range(SEARCHES):
            search(number)
        opened = abs(process.num_fds() - open_before)
        resident = sum(each.memory_info().rss for each in [process, *process.children(recursive=True)]) / 1e6
        yield Figure("resident, 10,000 notes, after 1,000 searches", resident, "MB", 250, about=f"{MANY.chunks} chunks")
        yield Figure("descriptors that 1,000 searches left open", opened, "files", MOST_LEFT_OPEN)
        awake = _busy_share(process)
    with site.daemon(**SOON_IDLE) as daemon:
        daemon.until_complete()
        idle = _busy_share(psutil.Process(daemon.pid))
    about = f"over {REST_S:.0f} s; {awake:.2%} right after searches"
    yield Figure("processor time of an idle daemon", idle * 100, "% of one", 0.5, about=about)


def _busy_share(process: psutil.Process) -> float:
    before, start = process.cpu_times(), time.perf_counter()
    time.sleep(REST_S)
    after, took = process.cpu_times(), time.perf_counter() - start
    return (after.user + after.system - before.user - before.system) / took
