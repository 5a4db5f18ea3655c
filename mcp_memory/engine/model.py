"""The model at work: loaded behind the first answers, then embedding whatever lacks a vector."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio

from mcp_memory.embedders.base import Embedder, EmbedderConfig, Progress
from mcp_memory.embedders.choose import open_embedder
from mcp_memory.engine.indexer import Indexer
from mcp_memory.engine.threads import in_thread
from mcp_memory.errors import DeadlineExceeded, EmbedderUnavailable, McpMemoryError
from mcp_memory.models import Problem

LOAD_DEADLINE_S = 900.0
"""Long enough to compile a large model once."""

RETRY_S = 30.0
"""How long after a failing endpoint or disk until the backlog is tried again."""

FEW_TEXTS = 64
"""Up to this backlog a writer waits for its own vectors; a longer one is worked off behind it."""


class Model:
    """`embedder` is None until it is in use; `state` says why, for people."""

    def __init__(self, config: EmbedderConfig, folder: Path, indexer: Indexer) -> None:
        self._config = config
        self._folder = folder
        self._indexer = indexer
        self._wanted = anyio.Event()
        self.embedder: Embedder | None = None
        self.state = "loading"
        self.settled = anyio.Event()
        """Set once the first backlog is embedded, or the model is known to be unavailable."""

    def wake(self) -> None:
        """There may be texts without a vector."""
        self._wanted.set()

    async def run(self, swept: Callable[[], bool], progress: Progress | None) -> None:
        """Load the model, switch the index to it, embed for ever. `swept`: the files are in the index."""
        try:
            embedder = await in_thread(
                lambda: open_embedder(self._config, self._folder, progress),
                deadline_s=LOAD_DEADLINE_S,
                what="loading the model",
            )
        except McpMemoryError as error:
            self.state = f"unavailable: {error}"
            embedder = None
        await self._wait_for(swept)
        await self._switch(embedder)
        if embedder is None:
            self.settled.set()
            return
        self.embedder = embedder
        while True:
            self._wanted = anyio.Event()
            retry = await self._embed(embedder)
            self.settled.set()
            with anyio.move_on_after(RETRY_S if retry else float("inf")):
                await self._wanted.wait()

    async def embed_now(self, deadline_s: float) -> bool:
        """Embed a small backlog at once; False when that was not possible in time: it goes on behind."""
        embedder = self.embedder
        if embedder is None or self._indexer.backlog > FEW_TEXTS:
            self.wake()
            return False
        try:
            with anyio.move_on_after(deadline_s):
                await self._indexer.embed_pending(embedder)
                return True
        except (EmbedderUnavailable, DeadlineExceeded) as error:
            self.state = f"failing: {error.message}"
        self.wake()
        return False

    async def close(self) -> None:
        """Idempotent."""
        if self.embedder:
            await in_thread(self.embedder.close, deadline_s=10, what="closing the model")

    async def _wait_for(self, swept: Callable[[], bool]) -> None:
        while not swept():
            await self._wanted.wait()
            self._wanted = anyio.Event()

    async def _switch(self, embedder: Embedder | None) -> None:
        """Returns when the index answers with this embedder's vectors; until then it is tried after each sweep."""
        while True:
            try:
                await self._indexer.use(embedder)
            except McpMemoryError as error:
                self._indexer.faults["index"] = Problem("index", error.message)
                self.settled.set()
                with anyio.move_on_after(RETRY_S):
                    await self._wanted.wait()
                self._wanted = anyio.Event()
                continue
            self._indexer.faults.pop("index", None)
            return

    async def _embed(self, embedder: Embedder) -> bool:
        """Whether the backlog must be tried again later."""
        try:
            await self._indexer.embed_pending(embedder)
        except McpMemoryError as error:
            self.state = f"failing: {error.message}"
            return True
        self.state = "ready"
        return False
