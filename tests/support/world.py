"""A vault with its state folder in temporary places, a clock that the test sets, and engines over them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anyio

from mcp_memory.core.core import EngineConfig
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.engine.engine import open_engine
from mcp_memory.indexing.config import WatchConfig
from mcp_memory.models import NoteRecord, NoteState
from mcp_memory.storage.filesystem import FilesystemBackend
from mcp_memory.vault.config import NoteKinds, VaultConfig
from mcp_memory.vault.draft import Draft
from mcp_memory.vault.journals.ledger import NoteJournals
from mcp_memory.vault.note_file import Layout
from mcp_memory.vault.note_store import NoteStore
from mcp_memory.vault.vault import Vault
from tests.support.index_on_disk import IndexOnDisk
from tests.support.keyword_engine import KeywordEngine

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
KINDS = NoteKinds({})
QUICK = WatchConfig(debounce_s=0.05, longest_wait_s=1.0)
EXHAUSTIVE = bool(os.environ.get("MCP_MEMORY_EXHAUSTIVE"))
REPOSITORY = Path(__file__).parents[2]


@dataclass
class World:
    root: Path
    state: Path
    models: Path
    provider: str = "none"
    now: datetime = NOON

    def clock(self) -> datetime:
        return self.now

    def later(self, **passed: float) -> None:
        self.now += timedelta(**passed)

    @asynccontextmanager
    async def engine(self, *, watching: bool = False, **sections: Any) -> AsyncGenerator[KeywordEngine]:
        """An engine that has swept once and embedded what there was."""
        known = {field.name for field in fields(EngineConfig)}
        settings: dict[str, Any] = {"embedder": EmbedderConfig(provider=self.provider), "watch": QUICK}
        settings |= {name: section for name, section in sections.items() if name in known}
        of_features = {name: section for name, section in sections.items() if name not in known}
        config = EngineConfig(self.root, self.state, self.models, features=of_features, **settings)
        async with open_engine(config, watch=watching, clock=self.clock) as engine:
            await engine.settled()
            yield KeywordEngine(engine, self.state, self.vault)

    def vault(self, **sources: Path) -> Vault:
        """The vault without an engine, of which no other writer knows."""
        return _vault(self.root, self.state, self.clock, sources=sources)

    def with_home(self, home: str) -> World:
        """Marked as a vault already, so that what the test writes first does not decide where home is."""
        self.write(".mcp-memory/vault.toml", f'id = "x"\nformat = 1\nhome = "{home}"\n')
        return self

    def write(self, path: str, content: str | bytes) -> Path:
        """`MEMORY.md` and logs are the agents' own, in a vault that was made before, unless `with_home` came first."""
        if path.startswith(("MEMORY.md", "memory/")) and not (self.root / ".mcp-memory").exists():
            self.with_home("")
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def files(self) -> dict[str, bytes]:
        """Every visible file and its bytes."""
        found = (file for file in self.root.rglob("*") if file.is_file() and "/." not in f"/{self._inner(file)}")
        return {self._inner(file): file.read_bytes() for file in found}

    def _inner(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix()


def draft(content: str, kind: str = "fact", **rest: Any) -> Draft:
    return Draft(content=content, kind=KINDS.get(kind), **rest)


def records(engine: KeywordEngine) -> list[NoteRecord]:
    """All that the index knows, forgotten notes included."""
    with index_of(engine) as index:
        return index.scan(index.active)


@contextmanager
def index_of(engine: KeywordEngine) -> Generator[IndexOnDisk]:
    """What is in the index of a running engine by now."""
    assert engine.state
    with closing(IndexOnDisk(engine.state)) as index:
        yield index


async def until(engine: KeywordEngine, holds: Callable[[dict[str, Any]], Any]) -> None:
    """Waits for what `status` says to be so."""

    async def is_so() -> bool:
        return bool(holds(await engine.status()))

    await eventually(is_so)


async def embedded(engine: KeywordEngine) -> None:
    """Waits until every passage has its vector."""
    await until(engine, lambda status: status["pending"] == 0)


def paths(engine: KeywordEngine, state: NoteState | None = None) -> list[str]:
    return [record.path for record in records(engine) if state is None or record.state is state]


async def found(engine: KeywordEngine, query: str, **filters: Any) -> list[str]:
    """The paths of a search's hits."""
    return [hit.path for hit in (await engine.search(query, limit=50, **filters)).hits]


async def eventually(condition: Callable[[], Any], *, within_s: float = 20) -> None:
    """Waits for a condition; a test that hangs fails at the deadline."""
    with anyio.fail_after(within_s):
        while True:
            outcome = condition()
            if await outcome if hasattr(outcome, "__await__") else outcome:
                return
            await anyio.sleep(0.01)


def python(code: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Another Python process that can import the package and these tests."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, **options)


def made(folder: Path, provider: str = "none") -> World:
    return World(folder / "vault", folder / "state", folder / "models", provider)


def more(examples: int) -> int:
    """So many examples, or twenty times as many where all day may be taken."""
    return examples * 20 if EXHAUSTIVE else examples


def vault_in(folder: Path, clock: Callable[[], datetime] = lambda: NOON, zone: tzinfo | None = None) -> Vault:
    return _vault(folder / "vault", folder, clock, zone)


def _vault(
    root: Path,
    state: Path,
    clock: Callable[[], datetime],
    zone: tzinfo | None = None,
    sources: Mapping[str, Path] = MappingProxyType({}),
) -> Vault:
    root.mkdir(parents=True, exist_ok=True)
    for name in ("undo", "recovery"):
        (state / name).mkdir(parents=True, exist_ok=True)
    journals, config = NoteJournals(state), VaultConfig()
    notes = NoteStore(
        FilesystemBackend(root, locks=state / "locks"),
        {name: FilesystemBackend(folder, read_only=True) for name, folder in sources.items()},
        layout=Layout("", zone or NOON.tzinfo), kinds=KINDS, max_note_bytes=config.max_note_bytes, clock=clock,
        journals=journals,
    )  # fmt: skip
    return Vault(notes, journals, config, {"": root, **{f"@{name}/": folder for name, folder in sources.items()}})
