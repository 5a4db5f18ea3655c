"""The daemon as a client meets it: calls beside an empty call, first index beside the bare model, memory, start.

    python tests/benchmarks/bench_daemon.py [--notes 2000] [--calls 200]

Every ratio is between two things measured in this run, in turns where they are calls; nothing is asserted.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from mcp_memory.client.connection import Address, Connection
from mcp_memory.client.credentials import Credentials
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.choose import open_embedder
from mcp_memory.errors import McpMemoryError
from mcp_memory.settings import Settings, load

SYLLABLES = [f"{a}{b}{c}" for a in "bdfgklmnprstvz" for b in "aeiou" for c in ("", "n", "r", "s")]
HERE = Path(__file__).parent
VOCABULARY = [f"{a}{b}{c}" for a in "bcdfghklmnprst" for b in ("a", "ei", "o", "u", "i") for c in SYLLABLES]
WEIGHTS = [1 / rank for rank in range(1, len(VOCABULARY) + 1)]
"""Zipf's law: a word's frequency is proportional to 1 / its rank, as in any language."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=2000, help="notes in the vault (about 4 chunks each)")
    parser.add_argument("--calls", type=int, default=200, help="calls of each sort")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench ü ") as folder:
        run(Path(folder), options.notes, options.calls)


def run(folder: Path, notes: int, calls: int) -> None:
    environ = {
        **os.environ,
        "MCP_MEMORY_STATE": str(folder / "state"),
        "MCP_MEMORY_VAULT": str(folder / "vault"),
        "MCP_MEMORY_MODELS": os.environ.get("MCP_MEMORY_MODELS", str(folder / "models")),
    }
    settings = load(environ)
    texts = write_vault(folder / "vault", notes)
    rate = raw_rate(settings, texts)
    with daemon(environ, settings) as (connection, listening_s):
        keywords_s, first = until_indexed(connection)
        status = connection.call("status", {})
        with bare() as port:
            floor, search, append = in_turns(
                [
                    caller("127.0.0.1", port, "nothing", "", lambda n: {"query": question(n)}),
                    tool(connection, settings, "memory_search", lambda n: {"query": question(n)}),
                    tool(connection, settings, "memory_append", lambda n: {"content": f"{question(n)} number {n}"}),
                ],
                calls,
            )
        durable = sorted(durable_write(folder / "vault", n) for n in range(calls))
        resident = psutil.Process(connection.address.pid).memory_info().rss / 1e6
    with daemon(environ, settings) as (connection, warm_listening_s):
        warm_keywords_s, warm = until_indexed(connection)
    base = statistics.median(floor)
    print(f"vault: {status['notes']} notes, {status['chunks']} chunks; {calls} calls of each sort, in turns\n")
    rows = [
        ("empty call of bare FastMCP", base, percentile(floor, 99), 1.0),
        ("memory_search", statistics.median(search), percentile(search, 99), statistics.median(search) / base),
        ("memory_append", statistics.median(append), percentile(append, 99), statistics.median(append) / base),
        ("raw durable write", statistics.median(durable), percentile(durable, 99), statistics.median(durable) / base),
    ]
    print(f"{'call':28}{'p50 ms':>10}{'p99 ms':>10}{'× empty':>10}")
    for name, middle, high, ratio in rows:
        print(f"{name:28}{middle * 1e3:10.2f}{high * 1e3:10.2f}{ratio:10.2f}")
    chunk_rate = status["chunks"] / first
    print(f"\nfirst index   {chunk_rate:8.0f} chunks/s, {chunk_rate / rate:.2f} of the bare model's {rate:.0f} texts/s")
    print(f"resident      {resident:8.0f} MB after {calls} searches and appends")
    print(f"cold start    {listening_s:8.2f} s from exec to an answer, keywords complete after {keywords_s:.2f} s")
    print(f"warm start    {warm_listening_s:8.2f} s, keywords {warm_keywords_s:.2f} s, complete {warm:.2f} s")


def write_vault(vault: Path, notes: int) -> list[str]:
    """Notes of four paragraphs of about 100 tokens; returns the paragraphs."""
    rng = random.Random(1)
    texts: list[str] = []
    for number in range(notes):
        paragraphs = [" ".join(rng.choices(VOCABULARY, WEIGHTS, k=60)) for _ in range(4)]
        texts += paragraphs
        file = vault / f"folder {number % 20}" / f"note {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Note {number}\n\n" + "\n\n".join(paragraphs) + "\n", encoding="utf-8")
    return texts


def raw_rate(settings: Settings, texts: list[str]) -> float:
    """Texts a second of the model alone."""
    embedder = open_embedder(EmbedderConfig(), settings.state.models, None)
    sample = [f"note {n} > Note {n}\n{text}" for n, text in enumerate(texts[:1000])]
    embedder.embed_documents(sample[:64])
    start = time.perf_counter()
    for at in range(0, len(sample), 64):
        embedder.embed_documents(sample[at : at + 64])
    rate = len(sample) / (time.perf_counter() - start)
    embedder.close()
    return rate


@contextmanager
def daemon(environ: dict[str, str], settings: Settings) -> Iterator[tuple[Connection, float]]:
    """A daemon of its own process, and the seconds from exec until it answers."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "mcp_memory", "serve"], env=environ, stderr=subprocess.DEVNULL, cwd=HERE.parents[1]
    )
    try:
        while True:
            try:
                connection = Connection(Address.read(settings.state.daemon), Credentials(settings.state.tokens))
                connection.verify()
                break
            except McpMemoryError:
                time.sleep(0.01)
        yield connection, time.perf_counter() - start
    finally:
        process.terminate()
        process.wait(30)


def until_indexed(connection: Connection) -> tuple[float, float]:
    """Seconds until keywords are complete, and until vectors are."""
    start = time.perf_counter()
    keywords = 0.0
    while True:
        status = connection.call("status", {})
        if not keywords and status["last_sweep_s"] is not None:
            keywords = time.perf_counter() - start
        if status["ready"]:
            return keywords, time.perf_counter() - start
        time.sleep(0.05)


@contextmanager
def bare() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, str(HERE / "bare_server.py")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        port = int(process.stdout.readline())
        while True:
            try:
                http.client.HTTPConnection("127.0.0.1", port).connect()
                break
            except OSError:
                time.sleep(0.02)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def tool(
    connection: Connection, settings: Settings, name: str, arguments: Callable[[int], dict[str, Any]]
) -> Callable[[int], float]:
    token = Credentials(settings.state.tokens).token("bench")
    return caller(connection.address.host, connection.address.port, name, token, arguments)


def caller(
    host: str, port: int, name: str, token: str, arguments: Callable[[int], dict[str, Any]]
) -> Callable[[int], float]:
    """A function that calls one tool over a kept-alive connection and returns the seconds it took."""
    connection = http.client.HTTPConnection(host, port, timeout=30)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
        **({"Authorization": f"Bearer {token}"} if token else {}),
    }

    def call(number: int) -> float:
        body = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": name, "arguments": arguments(number)},
            }
        )
        start = time.perf_counter()
        connection.request("POST", "/mcp", body, headers)
        answer = json.loads(connection.getresponse().read())
        took = time.perf_counter() - start
        if "result" not in answer or answer["result"].get("isError"):
            raise SystemExit(f"{name} failed: {answer}")
        return took

    return call


def in_turns(calls: list[Callable[[int], float]], rounds: int) -> list[list[float]]:
    """The same number of each, one after the other, so that noise meets all alike; the first ten are warm-up."""
    times: list[list[float]] = [[] for _ in calls]
    for number in range(rounds + 10):
        for sort, call in enumerate(calls):
            took = call(number)
            if number >= 10:
                times[sort].append(took)
    return times


def durable_write(folder: Path, number: int) -> float:
    """What any durable write costs here: write, fsync, rename, fsync of the folder."""
    target = folder / f".floor {number}"
    start = time.perf_counter()
    draft = target.with_suffix(".draft")
    with draft.open("wb") as file:
        file.write(b"x" * 300)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(target)
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    return time.perf_counter() - start


def question(number: int) -> str:
    rng = random.Random(number)
    return " ".join(rng.choices(VOCABULARY, WEIGHTS, k=6))


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share / 100))]


if __name__ == "__main__":
    main()
