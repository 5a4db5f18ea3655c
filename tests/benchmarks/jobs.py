"""Each job of the background over 10,000 notes: how long it takes, what memory, and search beside it."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psutil

from mcp_memory.client.connection import DaemonConnection
from mcp_memory.client.credentials import Credentials
from tests.benchmarks.calls import Tool, in_turns
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.indexing import MANY
from tests.benchmarks.search import searching
from tests.benchmarks.site import Daemon, fresh, indexed
from tests.eval.ninety_days.history import person, transcript
from tests.support.constants import with_constants

LOGS = Corpus(notes=60, entries=20, series="logs")
KINDS = {"note": 400, "fix": 400}
"""So many notes are appended: the first are grouped under topics, all are proposed for the archive."""

TUNED = {
    "MCP_MEMORY_TOPICS_AUTOMATIC": "false",
    "MCP_MEMORY_TOPICS_FRESH_TAIL_COUNT": "0",
    **with_constants(decay_cold_days=1),
}
CALLS_QUIET = 200
LONGEST_S = 1800.0


def jobs() -> Iterator[Figure]:
    """10,000 notes, 60 daily logs, 800 appended notes, and a person's sessions of 90 days; each job once."""
    with fresh() as site:
        shutil.copytree(indexed(MANY).root, site.root, dirs_exist_ok=True)
        logs = site.vault / "memory"
        logs.mkdir()
        for number in range(LOGS.notes):
            day = datetime.now(UTC) - timedelta(days=number)
            (logs / f"{day:%Y-%m-%d}.md").write_text(LOGS.text(number), encoding="utf-8")
        who = person("ada")
        transcripts = [str(transcript(session, site.root)) for session in who.sessions()]
        config = site.root / "config" / "mcp-memory" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        projects = site.root / "claude" / "projects"
        config.write_text(f"[capture.folders]\nclaude-code = {json.dumps(str(projects))}\n", encoding="utf-8")
        with site.daemon(**TUNED) as daemon:
            appending = Tool(daemon.port, "memory_append", daemon.token)
            for kind, count in KINDS.items():
                for number in range(count):
                    appending.call({"content": Corpus(count, 2, kind).text(number), "kind": kind})
            daemon.connection.call("capture", {"files": transcripts}, deadline_s=LONGEST_S)
            daemon.until_complete()
            quiet = percentile(in_turns([searching(daemon, MANY)], CALLS_QUIET)[0], 50) * 1e3
            for name in [job["name"] for job in daemon.connection.call("jobs", {"action": "list"})["jobs"]]:
                yield from _beside(daemon, name, quiet)


def _beside(daemon: Daemon, name: str, quiet_ms: float) -> Iterator[Figure]:
    person = DaemonConnection(daemon.connection.address, Credentials(daemon.site.settings.state.tokens))
    said: list[str] = []

    def run() -> None:
        report = person.call("jobs", {"action": "run", "name": name}, deadline_s=LONGEST_S)["runs"][0]
        said.append(f"failed: {report['error']}" if report["error"] else report["about"])

    job, search, process = threading.Thread(target=run), searching(daemon, MANY), psutil.Process(daemon.pid)
    taken: list[float] = []
    most = 0
    began = time.perf_counter()
    job.start()
    while job.is_alive():
        taken.append(search(len(taken)))
        most = max(most, sum(each.memory_info().rss for each in [process, *process.children(recursive=True)]))
    took_s = time.perf_counter() - began
    job.join()
    yield Figure(f"job {name} over 10,000 notes", took_s, "s", float("inf"), about=f"{most / 1e6:.0f} MB; {said[0]}")
    yield Figure(
        f"memory_search beside {name}, p50 (floor: quiet)",
        percentile(taken, 50) * 1e3, "ms", 2, quiet_ms, about=f"{len(taken)} calls",
    )  # fmt: skip
