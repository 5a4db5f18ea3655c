"""What `mcp-memory stdio` adds to a call, beside the same call over HTTP; and how soon it answers its first one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.benchmarks.calls import Tool, in_turns, timed
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.search import SMALL
from tests.benchmarks.shell import INITIALIZE, SCRIPT
from tests.benchmarks.site import Site, indexed

ROUNDS = 200
STARTS = 30
ADDED_MS = 10.0
ELSEWHERE = 10_000
"""So far apart are the questions of both ways: the second to ask the same would find its vector remembered."""


def stdio() -> Iterator[Figure]:
    """A ping, a search and a recall in turns over both ways, with a daemon over 10,000 chunks."""
    site = indexed(SMALL)
    with site.daemon() as daemon, _lines(site) as lines:
        daemon.until_complete()
        search = Tool(daemon.port, "memory_search", daemon.token)
        recall = Tool(daemon.port, "memory_recall", daemon.token)
        lines.ask("initialize", INITIALIZE)

        def call(name: str, number: int) -> float:
            arguments = {"query": SMALL.question(number + ELSEWHERE)}
            return timed(lambda: lines.ask("tools/call", {"name": name, "arguments": arguments}))

        ways = [
            lambda _: timed(lambda: search.ask("ping", {})),
            lambda _: timed(lambda: lines.ask("ping", {})),
            lambda number: search.timed({"query": SMALL.question(number)}),
            lambda number: call("memory_search", number),
            lambda number: recall.timed({"query": SMALL.question(number)}),
            lambda number: call("memory_recall", number),
        ]
        taken = in_turns(ways, ROUNDS)
        bare, first = in_turns([lambda _: _run(site, "pass"), lambda _: _first(site)], STARTS, warm_up=3)
    for name, theirs, ours in zip(("ping", "search", "recall"), taken[::2], taken[1::2], strict=True):
        http, shim = (percentile(each, 50) * 1e3 for each in (theirs, ours))
        about = f"{shim:.3g} ms, {shim / http:.2f} × the same over HTTP, {http:.3g} ms"
        yield Figure(f"stdio: {name}, p50 over HTTP's", shim - http, "ms", ADDED_MS, about=about)
    base, took = (percentile(each, 50) * 1e3 for each in (bare, first))
    about = f"{took / base:.1f} × `python -c pass`, {base:.3g} ms"
    yield Figure("stdio: first answer, p50 over a bare interpreter", took - base, "ms", 60, about=about)


class _Lines:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def ask(self, method: str, params: dict[str, Any]) -> None:
        assert self._process.stdin and self._process.stdout
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "result" not in answer or answer["result"].get("isError"):
            raise SystemExit(f"{method} over stdio failed: {answer}")


@contextmanager
def _lines(site: Site) -> Iterator[_Lines]:
    command = [sys.executable, "-c", SCRIPT, "stdio", "--client", "benchmarks"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=site.environ, cwd=site.root) as process:
        yield _Lines(process)


def _first(site: Site) -> float:
    def start() -> None:
        with _lines(site) as lines:
            lines.ask("initialize", INITIALIZE)

    return timed(start)


def _run(site: Site, program: str) -> float:
    return timed(lambda: subprocess.run([sys.executable, "-c", program], env=site.environ, cwd=site.root, check=True))
