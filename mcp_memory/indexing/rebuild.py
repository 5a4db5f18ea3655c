"""Builds a generation for another embedder or chunking while the old one keeps answering."""

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import IndexUnavailable
from mcp_memory.index.base import Generation, Index
from mcp_memory.indexing.embedding_backlog import EmbeddingBacklog
from mcp_memory.indexing.reconciler import MassDeletionGuard, suspicion
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import NotePath
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.vault import Vault


class GenerationBuilder:
    """The builder of generations, for one caller at a time. An interrupted build continues where it stopped."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        writer: IndexWriter,
        embedding: EmbeddingBacklog,
        loss: MassDeletionGuard,
        health: Health,
    ) -> None:
        self._vault = vault
        self._index = index
        self._writer = writer
        self._embedding = embedding
        self._loss = loss
        self._health = health

    async def use(self, embedder: Embedder | None) -> None:
        """Activate a generation with this embedder's vectors and this chunking, building it first if the active
        generation differs. Without an embedder, existing vectors stay.

        Raises IndexUnavailable while notes are missing that may come back, since a new generation would lack them."""
        await self._writer.reopened()
        active = self._writer.generation
        wanted = self._writer.fingerprint(embedder.fingerprint if embedder else "")
        any_vectors = embedder is None and active.fingerprint.startswith(self._writer.fingerprint(""))
        if any_vectors or active.fingerprint == wanted:
            return
        if self._loss.why:
            raise _missing_notes()
        embedding, dimension = (embedder.fingerprint, embedder.dimension) if embedder else ("", 0)
        built = await in_thread(self._index.begin, wanted, embedding, dimension, what="beginning a generation")
        await self._writer.write_to(built)
        await self.fill(built)
        if embedder and active.embedding:
            # The old vectors answer until all new ones are stored.
            await self._embedding.embed_all(embedder, lambda: built)
        await self._writer.switch_to(built)
        for old in await in_thread(self._index.generations, what="listing generations"):
            if not old.active:
                await in_thread(lambda number=old.number: self._index.drop(number), what="dropping a generation")
        self._health.progress.step("idle")

    async def embed(self, embedder: Embedder) -> int:
        """Embed all texts of the active generation that lack a vector; return their number. Raises as
        `EmbeddingBacklog.embed_all`."""
        return await self._embedding.embed_all(embedder, lambda: self._writer.generation)

    async def fill(self, built: Generation) -> None:
        """Write every note to a generation that may have some of them already."""
        known = self._writer.indexed_files
        listing = await in_thread(self._vault.list, what="listing the vault")
        if suspicion(listing, len(known.keys() - listing.files.keys()), len(known), unaccepted=False):
            raise _missing_notes()
        # An interrupted build may have files that have been deleted since.
        gone = [path for path in await self._held(built) if path not in listing.files]
        await self._writer.remove(gone, known, only=built)
        paths = [path for path in listing.files if path in known]
        with self._health.progress.tracking("building", len(paths)) as done:
            await self._writer.read_and_write(paths, known, done, only=built)
        for path in known.keys() - await self._held(built):
            self._writer.reindex_later(path)  # not readable now; each sweep tries it again

    async def _held(self, built: Generation) -> set[NotePath]:
        return await in_thread(lambda: {record.path for record in self._writer.scan(built)}, what="reading the index")


def _missing_notes() -> IndexUnavailable:
    return IndexUnavailable("notes are missing, so the index is not built anew", hint="mcp-memory doctor")
