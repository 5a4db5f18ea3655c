"""What a person or an agent's start-up waits for: `search`, `headers`, and a daemon that starts."""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from mcp_memory.client.connection import Address
from mcp_memory.client.credentials import Credentials
from mcp_memory.errors import NotRunning
from tests.benchmarks.calls import Tool, in_turns, timed
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.search import SMALL
from tests.benchmarks.site import Site, bare, indexed

ROUNDS = 30
STARTS = 9
SCRIPT = "import sys; from mcp_memory.cli import main; sys.exit(main())"
"""What the installed `mcp-memory` does."""

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmarks", "version": "1"},
}


def shell() -> Iterator[Figure]:
    """Commands beside a bare interpreter, with a daemon over 10,000 chunks."""
    site = indexed(SMALL)
    with site.daemon() as daemon:
        daemon.until_complete()
        tool = Tool(daemon.port, "memory_search", daemon.token)
        programs: list[Callable[[int], float]] = [
            lambda _: _run(site, "pass"),
            lambda _: _run(site, SCRIPT, "headers", "--client", "benchmarks"),
            lambda number: _run(site, SCRIPT, "search", SMALL.question(number)),
            lambda number: tool.timed({"query": SMALL.question(number)}),
        ]
        interpreter, headers, search, answer = (
            percentile(taken, 50) * 1e3 for taken in in_turns(programs, ROUNDS, warm_up=3)
        )
    about = f"`python -c pass`: {interpreter:.3g} ms"
    yield Figure("mcp-memory headers, over a bare interpreter", headers - interpreter, "ms", 60, about=about)
    yield Figure("mcp-memory search", search, "ms", 150, about=f"{about}, the same over HTTP: {answer:.3g} ms")


def start() -> Iterator[Figure]:
    """From exec until `initialize` and a keyword search are answered; files are in the page cache."""
    site = indexed(SMALL)
    floor, ours = in_turns([lambda _: _bare_start(), lambda _: _start(site)], STARTS, warm_up=1)
    base, took = percentile(floor, 50), percentile(ours, 50)
    yield Figure("cold start", took, "s", 1.5, about=f"a bare FastMCP server: {base:.3g} s")


def _run(site: Site, program: str, *arguments: str) -> float:
    command: Sequence[str] = [sys.executable, "-c", program, *arguments]
    return timed(lambda: subprocess.run(command, env=site.environ, cwd=site.root, check=True, capture_output=True))


def _bare_start() -> float:
    start = time.perf_counter()
    with bare() as port:
        Tool(port, "nothing").timed({"query": "x"})
        return time.perf_counter() - start


def _start(site: Site) -> float:
    state = site.settings.state
    token = Credentials(state.tokens).token("benchmarks")
    start = time.perf_counter()
    process = subprocess.Popen(site.command("serve"), env=site.environ, cwd=site.root, stderr=subprocess.DEVNULL)
    try:
        tool = Tool(_port(site), "memory_search", token)
        tool.ask("initialize", INITIALIZE)
        tool.timed({"query": SMALL.question(1), "mode": "keyword"})
        return time.perf_counter() - start
    finally:
        process.terminate()
        process.wait(30)


def _port(site: Site) -> int:
    """The daemon's, as soon as it takes connections; it answers them when it can."""
    while True:
        try:
            address = Address.read(site.settings.state.daemon)
            http.client.HTTPConnection(address.host, address.port).connect()
        except (NotRunning, OSError):
            time.sleep(0.005)
        else:
            return address.port
