"""Embeds the indexed texts that still lack a vector, a few at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import anyio

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import EmbedderUnavailable, McpMemoryError
from mcp_memory.index.base import Generation, Index
from mcp_memory.models import Problem, TextHash
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.threads import in_thread

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

STEP_TEXTS = 8
"""A model that takes ten seconds for each text still finishes a step well within the deadline."""

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
                if more and done % SHOWN_TEXTS == 0:
                    self._health.progress.step("embedding", done, done + await self.backlog())
        if done >= SHOWN_TEXTS:
            self._health.progress.step("idle")
        return done

    async def _step(self, embedder: Embedder, generation: Generation) -> tuple[int, bool]:
        """Embed one step; return the number of texts that were tried, and whether there are more."""
        number, name = generation.number, embedder.fingerprint

        def work() -> tuple[int, bool]:
            given_up = {text_hash for (by, text_hash), tries in self._refusals.items() if by == name and tries >= TRIES}
            missing = self._index.missing_vectors(number, STEP_TEXTS + len(given_up))
            wanted = [(text_hash, text) for text_hash, text in missing if text_hash not in given_up][:STEP_TEXTS]
            refused = self._embed(embedder, number, wanted) if wanted else 0
            more = refused > 0 or len(wanted) == STEP_TEXTS
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
        """Embed texts; return how many of them the model refused."""
        hashes = [text_hash for text_hash, _ in wanted]
        try:
            self._index.put_vectors(generation, hashes, _vectors(embedder, [text for _, text in wanted]))
        except EmbedderUnavailable:
            _vectors(embedder, [PROBE])
            refused = 0
            for text_hash, text in wanted:
                try:
                    self._index.put_vectors(generation, [text_hash], _vectors(embedder, [text]))
                except EmbedderUnavailable:
                    self._refusals[embedder.fingerprint, text_hash] += 1
                    refused += 1
            return refused
        return 0


def _vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return vectors. Raises EmbedderUnavailable for any error of the model."""
    try:
        return embedder.embed_documents(texts)
    except McpMemoryError:
        raise
    except Exception as error:  # another package's model may raise anything, with a text in its message
        raise EmbedderUnavailable(f"the embedding model failed ({type(error).__name__})") from error
