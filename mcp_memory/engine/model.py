"""The model at work: loaded behind the first answers, then embedding whatever lacks a vector."""

from __future__ import annotations

import logging
from pathlib import Path

import anyio

from mcp_memory.embedders.base import Embedder, EmbedderConfig, Progress
from mcp_memory.embedders.choose import open_embedder
from mcp_memory.engine.indexer import Indexer
from mcp_memory.engine.threads import in_thread, place_of
from mcp_memory.errors import ConfigInvalid, McpMemoryError
from mcp_memory.models import Problem

LOAD_MARGIN_S = 120.0
"""What loading may take besides compiling and looking on the network."""

RETRY_S = 30.0
"""How long after a failing endpoint or disk until the backlog is tried again; doubled up to `LATEST_RETRY_S`."""

LATEST_RETRY_S = 1800.0

FEW_TEXTS = 64
"""Up to this backlog a writer waits for its own vectors; a longer one is worked off behind it."""

log = logging.getLogger(__name__)


class Model:
    """`embedder` is None until it is in use; `state` says why, for people."""

    def __init__(self, config: EmbedderConfig, folder: Path, indexer: Indexer) -> None:
        self._config = config
        self._folder = folder
        self._indexer = indexer
        self._wanted = anyio.Event()
        self._may_come = True
        self.embedder: Embedder | None = None
        self.state = "loading"
        self.settled = anyio.Event()
        """Set once the first backlog is embedded, or the model or the index is known to be unavailable."""

    @property
    def reason(self) -> str:
        """Why a search goes without vectors, in few words: answers have a budget, `status` has the rest."""
        short, _, _ = self.state.partition(":")
        return f"the embedding model is {'still loading' if short == 'loading' else short}"

    def wake(self) -> None:
        """There may be texts without a vector."""
        self._wanted.set()

    async def run(self, swept: anyio.Event, progress: Progress | None) -> None:
        """Load the model, keep the index on its generation, embed for ever. `swept`: the first sweep was tried."""
        embedder = await self._load(progress)
        await swept.wait()
        wait_s = RETRY_S
        while True:
            self._wanted = anyio.Event()
            done = await self._work(embedder)
            self.settled.set()
            retry = not done or (embedder is None and self._may_come)
            with anyio.move_on_after(wait_s if retry else float("inf")) as pause:
                await self._wanted.wait()
            wait_s = min(wait_s * 2, LATEST_RETRY_S) if retry else RETRY_S
            if embedder is None and self._may_come and pause.cancelled_caught:
                embedder = await self._load(progress)

    async def embed_now(self, deadline_s: float) -> bool:
        """Embed a small backlog at once; False when that was not possible in time: it goes on behind."""
        embedder = self.embedder
        if embedder is None:
            return False
        try:
            with anyio.move_on_after(deadline_s):
                if await self._indexer.embedding.backlog() <= FEW_TEXTS:
                    await self._indexer.embedding.work_off(embedder, lambda: self._indexer.generation)
                    return True
        except McpMemoryError as error:
            self.state = f"failing: {error.message}"
        self.wake()
        return False

    async def close(self) -> None:
        """Idempotent."""
        if self.embedder:
            await in_thread(self.embedder.close, deadline_s=5, what="closing the model")

    async def _load(self, progress: Progress | None) -> Embedder | None:
        self._may_come = True
        config = self._config
        try:
            return await in_thread(
                lambda: open_embedder(config, self._folder, progress),
                deadline_s=config.compile_timeout_s + config.hub_timeout_s + LOAD_MARGIN_S,
                what="loading the model",
            )
        except McpMemoryError as error:
            self._may_come = not isinstance(error, ConfigInvalid) and config.provider != "none"
            self.state = f"unavailable: {error}"
        except Exception as error:  # a broken model must not end the daemon: keywords go on
            self.state = f"unavailable: {type(error).__name__} while loading"
            log.error("loading the model: %s", place_of(error))
        return None

    async def _work(self, embedder: Embedder | None) -> bool:
        """Everything there is to do now; False when it must be tried again later."""
        try:
            await self._indexer.use(embedder)
            self._indexer.faults.pop("index", None)
            if embedder:
                self.embedder = embedder
                await self._indexer.embedding.work_off(embedder, lambda: self._indexer.generation)
                self.state = "ready"
        except McpMemoryError as error:
            if self.embedder:
                self.state = f"failing: {error.message}"
            else:
                self._indexer.faults["index"] = Problem("index", error.message)
            return False
        except Exception as error:  # neither must a fault of ours: it is said, and tried again
            self._indexer.faults["model"] = Problem("model", f"{type(error).__name__} while embedding")
            log.error("embedding: %s", place_of(error))
            return False
        self._indexer.faults.pop("model", None)
        return True
