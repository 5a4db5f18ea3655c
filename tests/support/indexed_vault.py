"""A vault, its index and what makes the two equal, without an engine around them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.indexing.reconciler import MassDeletionGuard, Reconciler
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.runtime.health import Health
from mcp_memory.text.chunking.chunker import ChunkingConfig
from mcp_memory.vault.vault import Vault
from tests.support.world import World


@dataclass(frozen=True)
class IndexedVault:
    vault: Vault
    index: SqliteIndex
    writer: IndexWriter
    loss: MassDeletionGuard
    health: Health

    @property
    def reconciler(self) -> Reconciler:
        return Reconciler(self.vault, self.index, self.writer, self.loss, self.health)

    def texts(self, path: str) -> list[str]:
        """The passages of a note, as they are indexed."""
        return [passage.chunk.text for passage in self.index.passages(path)]


@contextmanager
def indexed_vault(world: World) -> Generator[IndexedVault]:
    vault = world.vault()
    with closing(SqliteIndex(world.state / "index")) as index:
        writer = IndexWriter(vault, index, ChunkingConfig())
        writer.open()
        yield IndexedVault(vault, index, writer, MassDeletionGuard(world.state / "unaccepted-loss"), Health())
