"""Embedding: the texts of the index that still lack a vector, worked off step by step."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from mcp_memory.embedders.base import Embedder
from mcp_memory.engine.progress import Progress
from mcp_memory.engine.threads import in_thread
from mcp_memory.index.base import Generation, Index

STEP_TEXTS = 8
"""A step is done well within its deadline even by a model that takes ten seconds a text."""

STEP_DEADLINE_S = 120.0
SHOWN_TEXTS = 64
"""So many texts between two steps that a person sees."""


class Embedding:
    """One caller at a time works, so that no text is embedded twice."""

    def __init__(self, index: Index, progress: Progress) -> None:
        self._index = index
        self._progress = progress
        self._working = anyio.Lock()

    async def backlog(self) -> int:
        """Texts of the answering generation that have no vector yet."""
        mark = await in_thread(self._index.watermark, deadline_s=STEP_DEADLINE_S, what="the state of the index")
        return mark.vectors_pending

    async def work_off(self, embedder: Embedder, target: Callable[[], Generation]) -> int:
        """Embed every text that lacks a vector in `target`, asked once it is our turn; returns how many there were.

        Does nothing for a generation of another embedder. Raises EmbedderUnavailable, DeadlineExceeded and
        IndexUnavailable; what is done stays done.
        """
        done = 0
        async with self._working:
            generation = target()
            while generation.embedding == embedder.fingerprint and (step := await self._step(embedder, generation)):
                done += step
                if done % SHOWN_TEXTS == 0:
                    self._progress.step("embedding", done, done + await self.backlog())
        if done >= SHOWN_TEXTS:
            self._progress.step("idle")
        return done

    async def _step(self, embedder: Embedder, generation: Generation) -> int:
        number = generation.number

        def work() -> int:
            missing = self._index.missing_vectors(number, STEP_TEXTS)
            if missing:
                vectors = embedder.embed_documents([text for _, text in missing])
                self._index.put_vectors(number, [text_hash for text_hash, _ in missing], vectors)
            return len(missing)

        return await in_thread(work, deadline_s=STEP_DEADLINE_S, what="embedding")
