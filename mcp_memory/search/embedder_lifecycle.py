"""Load the embedding model in the background, embed texts without a vector, and unload the model while idle."""

import logging
from pathlib import Path

import anyio

from mcp_memory.embedders.base import Embedder, EmbedderConfig, Progress
from mcp_memory.embedders.guards import CircuitBreakerEmbedder, IdleUnloadEmbedder
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.errors import ConfigInvalid, McpMemoryError
from mcp_memory.indexing.rebuild import GenerationBuilder
from mcp_memory.models import Problem
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.threads import in_thread, place_of

LOAD_MARGIN_S = 120.0
"""The seconds for loading, without compiling and network requests."""

RETRY_S = 30.0
"""The seconds until a retry after a failure of endpoint or disk; doubled up to `LATEST_RETRY_S`."""

LATEST_RETRY_S = 1800.0

LEAST_LOOK_S = 0.05
"""The shortest interval between checks whether the model is idle."""

RETURN_WAIT_S = 0.12
"""The seconds that a question waits for an unloaded model before it is answered by keywords only. The bundled model is
back after 0.07 to 0.1 s on two idle cores, and a complete answer is then better than a quick half."""

_FAILING = "failing"
_SAID = {"loading": "still loading", "resting": "being loaded again"}

log = logging.getLogger(__name__)


class EmbedderLifecycle:
    """The life of the embedding model. `embedder` is None until it is in use; `state` says why."""

    def __init__(self, config: EmbedderConfig, folder: Path, builder: GenerationBuilder, health: Health) -> None:
        self._config = config
        self._folder = folder
        self._builder = builder
        self._faults = health.faults
        self._wanted = anyio.Event()
        self._called = anyio.Event()
        self._returned = anyio.Event()
        self._may_come = True
        self._decided = anyio.Event()  # set once the model is in use, or can't be for now
        self.embedder: Embedder | None = None
        """If it is unloaded, its next text waits until it is loaded again."""
        self._guarded: CircuitBreakerEmbedder | None = None
        self._state = "loading"
        self._absence = ""
        self.settled = anyio.Event()
        """Set once the first backlog is embedded, or the model or the index is unavailable."""

    @property
    def state(self) -> str:
        """`ready`, `loading`, `resting`, or a fault, for `status`."""
        if self._resting:
            return self._absence or "resting"
        if self._is_answering or self._state.startswith(_FAILING):
            return self._state
        return "not answering: words alone find notes until it does"

    @property
    def reason(self) -> str:
        """Return why a search has no vectors, in a few words, since answers have a budget."""
        short, _, _ = self.state.partition(":")
        return f"the embedding model is {_SAID.get(short, short)}"

    @property
    def at_hand(self) -> Embedder | None:
        """Return the embedder, if a question can use it without waiting."""
        return None if self._resting or not self._is_answering else self._guarded

    @property
    def _is_answering(self) -> bool:
        return self._guarded is None or self._guarded.answering

    @property
    def _resting(self) -> bool:
        return isinstance(self.embedder, IdleUnloadEmbedder) and not self.embedder.loaded

    def wake(self) -> None:
        """Start the work; call it when there may be texts without a vector."""
        self._wanted.set()

    def preload(self) -> None:
        """Load an unloaded model in the background, for the next question."""
        if self._resting:
            self._called.set()

    async def wait_loaded(self, within_s: float = RETURN_WAIT_S) -> None:
        """Wait for an unloaded model, at most `within_s`, and not if it cannot be loaded now."""
        if self._resting:
            self._called.set()
            with anyio.move_on_after(within_s):
                await self._returned.wait()

    async def when_loaded(self) -> Embedder | None:
        """Return the embedder `at_hand`, after waiting for a model that is still coming, at most until a retry."""
        with anyio.move_on_after(RETRY_S):
            await self._decided.wait()
        await self.wait_loaded(RETRY_S)
        return self.at_hand

    async def run(self, swept: anyio.Event, progress: Progress | None) -> None:
        """Load the model, keep the index on its generation, embed forever. `swept`: after the first sweep."""
        embedder = await self._load(progress)
        await swept.wait()
        wait_s = RETRY_S
        while True:
            self._wanted = anyio.Event()
            done = await self._work(embedder)
            self._decided.set()
            self.settled.set()
            retry = not done or (embedder is None and self._may_come)
            with anyio.move_on_after(wait_s if retry else float("inf")) as pause:
                await self._wanted.wait()
            wait_s = min(wait_s * 2, LATEST_RETRY_S) if retry else RETRY_S
            if embedder is None and self._may_come and pause.cancelled_caught:
                embedder = await self._load(progress)

    async def unload_when_idle(self) -> None:
        """Unload the model when it has been idle for its configured time, and load it again when it is called;
        forever."""
        after_s = self._config.unload_after_s
        retry_s = RETRY_S
        while after_s:
            with anyio.move_on_after(max(LEAST_LOOK_S, after_s / 4)) as idle:
                await self._called.wait()
            if not isinstance(self.embedder, IdleUnloadEmbedder):
                continue
            if idle.cancelled_caught:
                self._returned, what = anyio.Event(), "unloading the model"
                try:
                    if await in_thread(self.embedder.rest, after_s, deadline_s=self._load_s, what=what):
                        log.info("the model leaves memory until it is needed")
                except McpMemoryError as error:  # still being opened; it will be tried again
                    log.warning("%s", error.message)
                continue
            await self._reload(self.embedder)
            if self._absence:
                await anyio.sleep(retry_s)
                retry_s = min(retry_s * 2, LATEST_RETRY_S)
                self._returned = anyio.Event()
            else:
                retry_s = RETRY_S
            self._called = anyio.Event()

    async def embed(self) -> int:
        """Embed all texts without a vector; return their number. Raises as `GenerationBuilder.use`."""
        if self.embedder is None:
            return 0
        await self._builder.use(self.embedder)
        return await self._builder.embed(self.embedder)

    async def close(self) -> None:
        """Close the model. Idempotent."""
        if self.embedder:
            await in_thread(self.embedder.close, deadline_s=5, what="closing the model")

    async def _load(self, progress: Progress | None) -> Embedder | None:
        self._may_come = True
        config = self._config
        try:
            embedder = await in_thread(
                open_embedder, config, self._folder, progress, deadline_s=self._load_s, what="loading the model"
            )
            if not embedder.resident or not config.unload_after_s:
                return embedder
            return IdleUnloadEmbedder(embedder, lambda: open_embedder(config, self._folder))
        except Exception as error:  # keyword search must go on
            self._may_come = not isinstance(error, ConfigInvalid) and config.provider != "none"
            self._state = _fault_of(error)
        return None

    @property
    def _load_s(self) -> float:
        return self._config.compile_timeout_s + self._config.hub_timeout_s + LOAD_MARGIN_S

    async def _reload(self, embedder: IdleUnloadEmbedder) -> None:
        """Load the model again; a failure also ends the waiting of questions."""
        self._absence = ""
        try:
            await in_thread(embedder.load, deadline_s=self._load_s, what="loading the model")
        except Exception as error:  # keyword search must go on
            self._absence = _fault_of(error)
        self._returned.set()

    async def _work(self, embedder: Embedder | None) -> bool:
        """Do all due work; False if it must be tried again later."""
        try:
            await self._builder.use(embedder)
            self._faults.pop("index", None)
            if embedder and embedder is not self.embedder:
                self.embedder, self._guarded = embedder, CircuitBreakerEmbedder(embedder)
                self._decided.set()
            if embedder:
                if await self._builder.embed(embedder) and self._guarded:
                    self._guarded.resume()
                self._state = "ready"
        except McpMemoryError as error:
            if self.embedder:
                self._state = f"{_FAILING}: {error.message}"
            else:
                self._faults["index"] = Problem("index", error.message)
            return False
        except Exception as error:  # a bug must not end the daemon: it is reported and tried again
            self._faults["model"] = Problem("model", f"{type(error).__name__} while embedding")
            log.error("embedding: %s", place_of(error))
            return False
        self._faults.pop("model", None)
        return True


def _fault_of(error: Exception) -> str:
    """Return the state of a model that can't be loaded."""
    if isinstance(error, McpMemoryError):
        return f"unavailable: {error}"
    log.error("loading the model: %s", place_of(error))
    return f"unavailable: {type(error).__name__} while loading"
