"""Where a benchmark runs: a vault with its state, a daemon over it, and the bare server that is its floor."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.client.credentials import Credentials
from mcp_memory.core.core import EngineConfig
from mcp_memory.daemon.engine_client import engine_config
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.engine.engine import open_engine
from mcp_memory.errors import McpMemoryError
from mcp_memory.settings.settings import Settings, load
from tests.benchmarks.corpus import Corpus

CHECKOUT = Path(__file__).parents[2]
KEPT = Path(tempfile.gettempdir()) / "mcp-memory-benchmarks"
"""What later runs use again."""


@dataclass(frozen=True)
class Site:
    root: Path

    @property
    def environ(self) -> dict[str, str]:
        ours = {
            "PYTHONPATH": str(CHECKOUT),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "MCP_MEMORY_STATE": str(self.root / "state"),
            "MCP_MEMORY_VAULT": str(self.root / "vault"),
            "MCP_MEMORY_MODELS": str(models()),
        }
        ours["PYTHONDONTWRITEBYTECODE"] = ""  # an installed package is compiled, whatever a developer's shell says
        theirs = {name: value for name, value in os.environ.items() if not name.startswith("MCP_MEMORY_")}
        return {**theirs, **ours}

    @property
    def settings(self) -> Settings:
        return load(self.environ)

    @property
    def vault(self) -> Path:
        return self.root / "vault"

    @property
    def engine_config(self) -> EngineConfig:
        self.settings.state.make()
        return engine_config(self.settings)

    @contextmanager
    def daemon(self, **more: str) -> Iterator[Daemon]:
        """A daemon that answers, in a process of its own; what it lacks it does meanwhile. `more`: its environment."""
        environ = {**self.environ, **more}
        process = subprocess.Popen(self.command("serve"), env=environ, cwd=self.root, stderr=subprocess.DEVNULL)
        try:
            yield Daemon(self, self._connected(process))
        finally:
            process.terminate()
            process.wait(30)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "mcp_memory", *arguments]

    def _connected(self, process: subprocess.Popen[bytes]) -> DaemonConnection:
        state = self.settings.state
        while process.poll() is None:
            try:
                connection = DaemonConnection(Address.read(state.daemon), Credentials(state.tokens))
                connection.verify()
            except McpMemoryError:
                time.sleep(0.005)
            else:
                return connection
        raise SystemExit(f"the daemon ended with {process.returncode}; its log is in {state.log.parent}")


@dataclass(frozen=True)
class Daemon:
    site: Site
    connection: DaemonConnection

    @property
    def port(self) -> int:
        return self.connection.address.port

    @property
    def pid(self) -> int:
        return self.connection.address.pid

    @property
    def token(self) -> str:
        return Credentials(self.site.settings.state.tokens).token("benchmarks")

    def status(self) -> dict[str, Any]:
        return self.connection.call("status", {})

    def until_complete(self) -> None:
        """Returns once every file is indexed and every text has its vector."""
        while not (status := self.status())["ready"] or status["pending"]:
            time.sleep(0.05)


def models() -> Path:
    """Where compiled models are kept."""
    return Path(os.environ.get("MCP_MEMORY_MODELS", KEPT / "models"))


@contextmanager
def fresh() -> Iterator[Site]:
    """An empty one, gone afterwards."""
    KEPT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fresh ü ", dir=KEPT) as folder:
        (site := Site(Path(folder))).vault.mkdir()
        yield site


def indexed(corpus: Corpus) -> Site:
    """One whose vault is the corpus and whose index is complete; made at the first call, kept, brought up to date."""
    site = Site(KEPT / corpus.name)
    whole = site.root / "written"
    if not whole.exists():
        shutil.rmtree(site.root, ignore_errors=True)
        corpus.write(site.vault)
        whole.touch()
    print(f"indexing {corpus.name}: {corpus.chunks:,} chunks", file=sys.stderr, flush=True)
    with remembering() as embedder:
        anyio.run(_index, dataclasses.replace(site.engine_config, embedder=embedder))
    return site


@contextmanager
def remembering() -> Iterator[EmbedderConfig]:
    """The embedder of `remembered.py`, found as any other package's would be."""
    os.environ["BENCHMARK_VECTORS"] = str(KEPT / "vectors.npz")
    with tempfile.TemporaryDirectory() as folder:
        info = Path(folder) / "remembered-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: remembered\nVersion: 1\n")
        target = "tests.benchmarks.remembered:open_remembered"
        (info / "entry_points.txt").write_text(f"[mcp_memory.embedder]\nremembered = {target}\n")
        sys.path.insert(0, folder)
        try:
            yield EmbedderConfig(provider="remembered")
        finally:
            sys.path.remove(folder)


@contextmanager
def bare() -> Iterator[int]:
    """The port of an empty FastMCP tool behind the same HTTP stack."""
    program = [sys.executable, str(Path(__file__).with_name("bare_server.py"))]
    environ = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environ)
    try:
        assert process.stdout
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(10)


async def _index(config: EngineConfig) -> None:
    async with open_engine(config, watch=False) as engine:
        await engine.settled()
        status = await engine.perform("status", {})
    if status["pending"] or not status["model"]:
        raise SystemExit(f"the index of {config.root} cannot be completed: {status}")
