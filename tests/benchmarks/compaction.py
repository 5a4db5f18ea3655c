"""Search beside compaction: how long a question takes while hundreds of notes are filed under topics in one run."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from mcp_memory.client.connection import DaemonConnection
from mcp_memory.client.credentials import Credentials
from tests.benchmarks.calls import Tool, in_turns
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.search import searching
from tests.benchmarks.site import Daemon, fresh

FILED = Corpus(notes=400, entries=2, series="filed")
"""A note is some 200 tokens long."""

CALLS_QUIET = 200
FORGOTTEN_S = 600.0


def beside_compaction() -> Iterator[Figure]:
    """400 notes are appended to an empty vault; then a person's `compact`, which stands back for nobody."""
    tuned = {"MCP_MEMORY_TOPICS_AUTOMATIC": "false"}
    with fresh() as site, site.daemon(**tuned) as daemon:
        appending = Tool(daemon.port, "memory_append", daemon.token)
        for number in range(FILED.notes):
            appending.timed({"content": FILED.text(number)})
        daemon.until_complete()
        search = searching(daemon, FILED)
        quiet = in_turns([search], CALLS_QUIET)[0]
        began = time.perf_counter()
        beside, report = _while_compacting(daemon)
        took_s = time.perf_counter() - began
    jobs, waiting = len(report["done"]), report["waiting"]
    for share in (50, 95):
        yield Figure(
            f"memory_search beside a compaction, p{share} (floor: quiet)",
            percentile(beside, share) * 1e3,
            "ms",
            2 if share == 50 else float("inf"),
            percentile(quiet, share) * 1e3,
            about=f"{len(beside)} calls in {took_s:.3g} s, {jobs} jobs, {FILED.notes - waiting} notes filed",
        )


def _while_compacting(daemon: Daemon) -> tuple[list[float], dict[str, Any]]:
    """Seconds of each search until it is done, and its report."""
    report: dict[str, Any] = {}
    person = DaemonConnection(daemon.connection.address, Credentials(daemon.site.settings.state.tokens))
    compaction = threading.Thread(target=lambda: report.update(person.call("compact", {}, deadline_s=FORGOTTEN_S)))
    search = searching(daemon, FILED)
    search(0)
    taken: list[float] = []
    compaction.start()
    while compaction.is_alive():
        taken.append(search(len(taken)))
    compaction.join()
    return taken, report
