"""Who waits for whom: calls of an ordinary session, and the event loop's lag, beside heavy work of others.

    python -m tests.benchmarks.stalls [--notes 2000]

A daemon of its own process over a small vault; a probe inside it sleeps 10 ms again and again and notes how late it
wakes. Everything shares the cores that there are, so the quiet row is the one to compare with. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import array
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.client.credentials import Credentials
from mcp_memory.errors import McpMemoryError
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.site import CHECKOUT, Site
from tests.support.keyword_engine import KeywordEngine

STEP_S = 0.01
ARRAY = "d"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.stalls", description=__doc__)
    parser.add_argument("--notes", type=int, default=2000, help="notes of the bulk index")
    parser.add_argument("--quiet-s", type=float, default=8, help="how long to measure without heavy work")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stalls ") as folder:
        run(Path(folder), options.notes, options.quiet_s)


def run(folder: Path, notes: int, quiet_s: float) -> None:
    site = Site(folder)
    resident, bulk = Corpus(300, 4, "resident"), Corpus(notes, 4, "bulk")
    resident.write(site.vault)
    with probed(site, folder / "lags") as daemon:
        until(lambda: daemon.status()["ready"] and not daemon.status()["pending"])
        print(f"{'beside':26}{'calls':>6}  {'lag p50/p99/max ms':>22}  {'search':>22}  {'append':>22}  {'health':>22}")

        def beside(name: str, work: Callable[[], object]) -> None:
            measured(name, daemon, folder / "lags", work)

        def first_index() -> None:
            bulk.write(site.vault)
            daemon.call("reconcile", {})
            until(lambda: not daemon.status()["pending"])

        def append(content: str) -> Callable[[], object]:
            return lambda: [daemon.call("append", {"content": f"{n}\n{content}", "kind": "fact"}) for n in range(2)]

        def file(content: str) -> Callable[[], object]:
            def put() -> None:
                (site.vault / "heavy.md").write_text(content, encoding="utf-8")
                daemon.call("reconcile", {})

            return put

        beside("nothing", lambda: time.sleep(quiet_s))
        beside(f"a first index of {notes}", first_index)
        beside("1 MB appends of headings", append("# abc\n" * 160_000))
        beside("1 MB appends of prose", append("The quick brown fox jumps over the lazy dog.\n\n" * 21_000))
        beside("100,000 headings", file("".join(f"# heading {n} violet\n" for n in range(100_000))))
        beside("a note of 50 MB", file("The quick brown fox jumps over the lazy dog.\n\n" * 1_100_000))
        beside("one line of 10 MB", file("violet word " * 850_000))
        beside("4 MB searches", lambda: [daemon.refused("search", {"query": "violet " * 500_000}) for _ in range(5)])
        beside(
            "wide answers",
            lambda: [daemon.call("recall", {"query": "the", "budget_tokens": 200_000}) for _ in range(3)],
        )


class Daemon:
    def __init__(self, site: Site, connection: DaemonConnection) -> None:
        self.site = site
        self.connection = connection

    def call(self, operation: str, arguments: dict[str, Any]) -> Any:
        return self.connection.call(operation, arguments)

    def refused(self, operation: str, arguments: dict[str, Any]) -> None:
        with suppress(McpMemoryError):
            self.call(operation, arguments)

    def status(self) -> dict[str, Any]:
        return self.call("status", {})


@contextmanager
def probed(site: Site, lags: Path) -> Iterator[Daemon]:
    command = [sys.executable, "-m", "tests.benchmarks.stalls", "--inside", str(lags)]
    process = subprocess.Popen(command, env=site.environ, cwd=CHECKOUT, stderr=subprocess.DEVNULL)
    try:
        yield Daemon(site, connected(site))
    finally:
        process.terminate()
        process.wait(30)


def connected(site: Site) -> DaemonConnection:
    while True:
        try:
            state = site.settings.state
            connection = DaemonConnection(Address.read(state.daemon), Credentials(state.tokens))
            connection.verify()
            return connection
        except (McpMemoryError, OSError):
            time.sleep(0.05)


def until(condition: Callable[[], object]) -> None:
    while not condition():
        time.sleep(0.1)


def measured(name: str, daemon: Daemon, lags: Path, work: Callable[[], object]) -> None:
    """One row: an ordinary session searches and appends while `work` goes on."""
    over = threading.Event()
    times: dict[str, list[float]] = {"search": [], "append": [], "health": []}
    since = lags.stat().st_size

    def session() -> None:
        connection = connected(daemon.site)
        rng = random.Random(name)
        while not over.is_set():
            number = rng.randrange(1 << 40)
            question = " ".join(rng.choices(WORDS, k=6))
            for sort, call in (
                ("search", lambda q=question: connection.call("search", {"query": q})),
                (
                    "append",
                    lambda n=number: connection.call("append", {"content": f"fact {n} of {name}", "kind": "fact"}),
                ),
                ("health", connection.verify),
            ):
                start = time.perf_counter()
                call()
                times[sort].append(time.perf_counter() - start)
                over.wait(0.02)

    thread = threading.Thread(target=session)
    thread.start()
    try:
        work()
    finally:
        over.set()
        thread.join()
    time.sleep(0.3)
    found = array.array(ARRAY, lags.read_bytes()[since:])
    rows = [figures(list(found)), *(figures(times[sort]) for sort in ("search", "append", "health"))]
    print(f"{name:26}{len(times['search']):6}  " + "  ".join(f"{row:>22}" for row in rows), flush=True)


WORDS = ["the", "quick", "brown", "fox", "heading", "violet", "index", "memory", "note", "state", "time", "water"]


def figures(seconds: list[float]) -> str:
    if not seconds:
        return "-"
    ordered = sorted(each * 1000 for each in seconds)
    return f"{ordered[len(ordered) // 2]:.1f} / {ordered[int(len(ordered) * 0.99)]:.0f} / {ordered[-1]:.0f}"


# -- inside the daemon -----------------------------------------------------------------------------------------------


def serve_probed(lags: Path) -> None:
    """The daemon as it is, with one task more in the engine's group."""
    from mcp_memory.cli import main as serve  # here, since it switches off telemetry before other imports

    lags.write_bytes(b"")
    start = KeywordEngine.start

    async def started(self: KeywordEngine, tasks: Any, **rest: Any) -> None:
        await start(self, tasks, **rest)
        tasks.start_soon(sample)

    async def sample() -> None:
        with lags.open("ab", buffering=0) as file:
            while True:
                late = array.array(ARRAY)
                for _ in range(20):
                    due = time.perf_counter() + STEP_S
                    await anyio.sleep(STEP_S)
                    late.append(time.perf_counter() - due)
                file.write(late.tobytes())

    KeywordEngine.start = started
    sys.argv = ["mcp-memory", "serve"]
    serve()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        serve_probed(Path(sys.argv[2]))
    else:
        main()
