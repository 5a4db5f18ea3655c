"""Builds the index anew beside the old one, and embeds the texts that have no vector yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import EmbedderUnavailable, IndexUnavailable, McpMemoryError
from mcp_memory.index.base import Generation, Index
from mcp_memory.indexing.reconciler import MassDeletionGuard, suspicion
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import NotePath, Problem, TextHash
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.vault import Vault

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

STEP_DEADLINE_S = 120.0
SHOWN_TEXTS = 64
"""The number of texts between two updates of the progress."""

TRIES = 3
"""The tries of a text that the model refuses, before it stays without a vector."""

PROBE = "tea"
"""A text that every model accepts: if it fails too, the model is at fault and not the text."""


class EmbeddingBacklog:
    """The embedding of texts for one caller at a time, so that no text is embedded twice, and one step at a time, even
    if one hangs."""

    def __init__(self, index: Index, health: Health) -> None:
        self._index = index
        self._health = health
        self._working = anyio.Lock()
        self._stepping = anyio.CapacityLimiter(1)
        self._refusals = Counter[tuple[str, TextHash]]()
        """By the embedder's fingerprint and the text."""

    async def backlog(self) -> int:
        """Count the texts of the answering generation that have no vector yet."""
        mark = await in_thread(self._index.watermark, deadline_s=STEP_DEADLINE_S, what="the state of the index")
        return mark.vectors_pending

    async def embed_all(self, embedder: Embedder, target: Callable[[], Generation]) -> int:
        """Embed every text that lacks a vector in the generation that `target` returns; return their number.

        Does nothing for a generation of another embedder. A text that the model keeps refusing, though it takes others,
        is reported as a fault. Raises EmbedderUnavailable, DeadlineExceeded and IndexUnavailable; finished steps stay.
        """
        done = 0
        async with self._working:
            generation = target()
            more = generation.embedding == embedder.fingerprint
            while more:
                step, more = await self._step(embedder, generation)
                done += step
                if more and done % SHOWN_TEXTS < step:
                    self._health.progress.step("embedding", done, done + await self.backlog())
        if done >= SHOWN_TEXTS:
            self._health.progress.step("idle")
        return done

    async def _step(self, embedder: Embedder, generation: Generation) -> tuple[int, bool]:
        """Embed one step; return the number of texts that were tried, and whether there are more."""
        number, name, most = generation.number, embedder.fingerprint, embedder.texts_at_once

        def work() -> tuple[int, bool]:
            given_up = {text_hash for (by, text_hash), tries in self._refusals.items() if by == name and tries >= TRIES}
            missing = self._index.missing_vectors(number, most + len(given_up))
            wanted = [(text_hash, text) for text_hash, text in missing if text_hash not in given_up][:most]
            refused = self._embed(embedder, number, wanted) if wanted else 0
            more = refused > 0 or len(wanted) == most
            if not more:
                self._report(len(missing) - len(wanted))
            return len(wanted), more

        return await in_thread(work, deadline_s=STEP_DEADLINE_S, what="embedding", limiter=self._stepping)

    def _report(self, refused: int) -> None:
        if refused:
            message = f"{refused} passages are refused by the embedding model: words alone find them"
            self._health.faults["texts"] = Problem("texts", message)
        else:
            self._health.faults.pop("texts", None)

    def _embed(self, embedder: Embedder, generation: int, wanted: Sequence[tuple[TextHash, str]]) -> int:
        """Embed texts; return how many of them the model refused, which is found by halves."""
        hashes = [text_hash for text_hash, _ in wanted]
        try:
            self._index.put_vectors(generation, hashes, _vectors(embedder, [text for _, text in wanted]))
        except EmbedderUnavailable:
            _vectors(embedder, [PROBE])
            if len(wanted) == 1:
                self._refusals[embedder.fingerprint, hashes[0]] += 1
                return 1
            half = len(wanted) // 2
            return sum(self._embed(embedder, generation, part) for part in (wanted[:half], wanted[half:]))
        return 0


def _vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return vectors. Raises EmbedderUnavailable for any error of the model."""
    try:
        return embedder.embed_documents(texts)
    except McpMemoryError:
        raise
    except Exception as error:  # another package's model may raise anything, with a text in its message
        raise EmbedderUnavailable(f"the embedding model failed ({type(error).__name__})") from error


@dataclass(frozen=True)
class GenerationBuilder:
    """The builder of generations, for one caller at a time. An interrupted build continues where it stopped."""

    vault: Vault
    index: Index
    writer: IndexWriter
    embedding: EmbeddingBacklog
    loss: MassDeletionGuard
    health: Health

    async def use(self, embedder: Embedder | None) -> None:
        """Activate a generation with this embedder's vectors and this chunking, building it first if the active
        generation differs. Without an embedder, existing vectors stay.

        Raises IndexUnavailable while notes are missing that may come back, since a new generation would lack them."""
        await self.writer.reopened()
        active = self.writer.generation
        wanted = self.writer.fingerprint(embedder.fingerprint if embedder else "")
        any_vectors = embedder is None and active.fingerprint.startswith(self.writer.fingerprint(""))
        if any_vectors or active.fingerprint == wanted:
            return
        if self.loss.why:
            raise _missing_notes()
        embedding, dimension = (embedder.fingerprint, embedder.dimension) if embedder else ("", 0)
        built = await in_thread(self.index.begin, wanted, embedding, dimension, what="beginning a generation")
        await self.writer.write_to(built)
        await self.fill(built)
        if embedder and active.embedding:
            # The old vectors answer until all new ones are stored.
            await self.embedding.embed_all(embedder, lambda: built)
        await self.writer.switch_to(built)
        for old in await in_thread(self.index.generations, what="listing generations"):
            if not old.active:
                await in_thread(self.index.drop, old.number, what="dropping a generation")
        self.health.progress.step("idle")

    async def embed(self, embedder: Embedder) -> int:
        """Embed all texts of the active generation that lack a vector; return their number. Raises as
        `EmbeddingBacklog.embed_all`."""
        return await self.embedding.embed_all(embedder, lambda: self.writer.generation)

    async def fill(self, built: Generation) -> None:
        """Write every note to a generation that may have some of them already."""
        known = self.writer.indexed_files
        listing = await in_thread(self.vault.list, what="listing the vault")
        if suspicion(listing, len(known.keys() - listing.files.keys()), len(known), unaccepted=False):
            raise _missing_notes()
        # An interrupted build may have files that have been deleted since.
        gone = [path for path in await self._held(built) if path not in listing.files]
        await self.writer.remove(gone, known, only=built)
        paths = [path for path in listing.files if path in known]
        with self.health.progress.tracking("building", len(paths)) as done:
            await self.writer.read_and_write(paths, known, done, only=built)
        for path in known.keys() - await self._held(built):
            self.writer.reindex_later(path)  # not readable now; each sweep tries it again

    async def _held(self, built: Generation) -> set[NotePath]:
        return await in_thread(lambda: {record.path for record in self.writer.scan(built)}, what="reading the index")


def _missing_notes() -> IndexUnavailable:
    return IndexUnavailable("notes are missing, so the index is not built anew", hint="mcp-memory doctor")
