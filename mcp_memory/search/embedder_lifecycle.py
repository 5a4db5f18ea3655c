"""Loads the embedding model in the background, embeds what lacks a vector, and unloads the model while idle."""

from __future__ import annotations

import logging
from pathlib import Path
from time import monotonic

import anyio

from mcp_memory.embedders.base import Embedder, EmbedderConfig, Progress
from mcp_memory.embedders.choose import open_embedder
from mcp_memory.embedders.circuit_breaker import CircuitBreakerEmbedder
from mcp_memory.embedders.idle_unload import IdleUnloadEmbedder
from mcp_memory.errors import ConfigInvalid, McpMemoryError
from mcp_memory.indexing.rebuild import GenerationBuilder
from mcp_memory.models import Problem
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.threads import in_thread, place_of
from mcp_memory.search.classifier_training import ClassifierTraining, TrainedClassifier
from mcp_memory.search.confidence_config import ConfidenceConfig

LOAD_MARGIN_S = 120.0
"""What loading may take besides compiling and looking on the network."""

RETRY_S = 30.0
"""How long after a failing endpoint or disk until the backlog is tried again; doubled up to `LATEST_RETRY_S`."""

LATEST_RETRY_S = 1800.0

LEAST_LOOK_S = 0.05
"""How often at most a model is looked at that may be idle."""

RETURN_WAIT_S = 0.12
"""How long a question waits for a model that is at rest, before words alone answer it. The bundled one is back after
0.07 to 0.1 s on two cores that have nothing else to do, and a whole answer then serves better than a quick half."""

LEARN_S = 600.0
"""For 3,200 short texts; a slow endpoint needs minutes."""

_SAID = {"loading": "still loading", "resting": "being loaded again"}

log = logging.getLogger(__name__)


class EmbedderLifecycle:
    """`embedder` is None until it is in use; `state` says why, for people."""

    def __init__(
        self,
        config: EmbedderConfig,
        sureness: ConfidenceConfig,
        folder: Path,
        builder: GenerationBuilder,
        health: Health,
    ) -> None:
        self._config = config
        self._folder = folder
        self._builder = builder
        self._school = ClassifierTraining(folder, sureness)
        self._ignorant = False
        self._learns_from = 0.0
        """Of time.monotonic(): an endpoint that fails is not asked for thousands of texts with each append."""
        self._faults = health.faults
        self._wanted = anyio.Event()
        self._called = anyio.Event()
        self._returned = anyio.Event()
        self._may_come = True
        self.embedder: Embedder | None = None
        """It may be at rest: its next text then waits until it is loaded again."""
        self._patient: CircuitBreakerEmbedder | None = None
        self._state = "loading"
        self._absence = ""
        self.settled = anyio.Event()
        """Set once the first backlog is embedded, or the model or the index is known to be unavailable."""

    @property
    def state(self) -> str:
        """`ready`, `loading`, `resting`, or what is wrong, for people."""
        if self._resting:
            return self._absence or "resting"
        return self._state if self._is_answering else "not answering: words alone find notes until it does"

    @property
    def reason(self) -> str:
        """Why a search goes without vectors, in few words: answers have a budget, `status` has the rest."""
        short, _, _ = self.state.partition(":")
        return f"the embedding model is {_SAID.get(short, short)}"

    @property
    def at_hand(self) -> Embedder | None:
        """The embedder, for a question, if it can be used without waiting."""
        return None if self._resting or not self._is_answering else self._patient

    @property
    def _is_answering(self) -> bool:
        return self._patient is None or self._patient.answering

    @property
    def _resting(self) -> bool:
        return isinstance(self.embedder, IdleUnloadEmbedder) and not self.embedder.loaded

    def trained_classifier(self) -> TrainedClassifier | None:
        """What the model at hand has learned; None until it has, and asking has it learn."""
        embedder = self.at_hand
        found = self._school.trained_for(embedder) if embedder else None
        if embedder and found is None and not self._ignorant and monotonic() >= self._learns_from:
            self._ignorant = True
            self.wake()
        return found

    def wake(self) -> None:
        """There may be texts without a vector."""
        self._wanted.set()

    def call(self) -> None:
        """Somebody is at work, and the next question will want the model: it comes back if it is at rest."""
        if self._resting:
            self._called.set()

    async def returned(self, within_s: float = RETURN_WAIT_S) -> None:
        """Waits for a model at rest, so long at most; at once where it cannot come back now."""
        if self._resting:
            self._called.set()
            with anyio.move_on_after(within_s):
                await self._returned.wait()

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

    async def keep(self) -> None:
        """Let the model rest when nobody has needed it for long, and load it again when it is called; for ever."""
        after_s = self._config.unload_after_s
        retry_s = RETRY_S
        while after_s:
            with anyio.move_on_after(max(LEAST_LOOK_S, after_s / 4)) as idle:
                await self._called.wait()
            if not isinstance(self.embedder, IdleUnloadEmbedder):
                continue
            if idle.cancelled_caught:
                await self._let_rest(self.embedder, after_s)
                continue
            await self._bring_back(self.embedder)
            if self._absence:
                await anyio.sleep(retry_s)
                retry_s = min(retry_s * 2, LATEST_RETRY_S)
                self._returned = anyio.Event()
            else:
                retry_s = RETRY_S
            self._called = anyio.Event()

    async def embed(self) -> int:
        """Embed now whatever lacks a vector; returns how many texts did. Raises as `Builder.use` and `.embed`."""
        if self.embedder is None:
            return 0
        await self._builder.use(self.embedder)
        return await self._builder.embed(self.embedder)

    async def train_classifier(self) -> None:
        """See that the model tells prompts that want memory from those that do not, and how sure an answer is. Raises
        EmbedderUnavailable."""
        embedder = self.embedder
        self._ignorant, self._learns_from = False, monotonic() + LATEST_RETRY_S
        if embedder and self._school.trained_for(embedder) is None:
            await in_thread(lambda: self._school.train(embedder), deadline_s=LEARN_S, what="learning from prompts")

    async def close(self) -> None:
        """Idempotent."""
        if self.embedder:
            await in_thread(self.embedder.close, deadline_s=5, what="closing the model")

    async def _load(self, progress: Progress | None) -> Embedder | None:
        self._may_come = True
        config = self._config
        try:
            embedder = await in_thread(
                lambda: open_embedder(config, self._folder, progress), deadline_s=self._load_s, what="loading the model"
            )
            if not embedder.resident or not config.unload_after_s:
                return embedder
            return IdleUnloadEmbedder(embedder, lambda: open_embedder(config, self._folder))
        except McpMemoryError as error:
            self._may_come = not isinstance(error, ConfigInvalid) and config.provider != "none"
            self._state = f"unavailable: {error}"
        except Exception as error:  # a broken model must not end the daemon: keywords go on
            self._state = f"unavailable: {type(error).__name__} while loading"
            log.error("loading the model: %s", place_of(error))
        return None

    @property
    def _load_s(self) -> float:
        return self._config.compile_timeout_s + self._config.hub_timeout_s + LOAD_MARGIN_S

    async def _let_rest(self, embedder: IdleUnloadEmbedder, after_s: float) -> None:
        self._returned = anyio.Event()
        try:
            if await in_thread(lambda: embedder.rest(after_s), deadline_s=self._load_s, what="unloading the model"):
                log.info("the model leaves memory until it is needed")
        except McpMemoryError as error:  # it is being opened, for long; there is another time
            log.warning("%s", error.message)

    async def _bring_back(self, embedder: IdleUnloadEmbedder) -> None:
        """Whatever comes of it, nobody needs to wait for it any longer."""
        self._absence = ""
        try:
            await in_thread(embedder.load, deadline_s=self._load_s, what="loading the model")
        except McpMemoryError as error:
            self._absence = f"unavailable: {error}"
        except Exception as error:  # a broken model must not end the daemon: keywords go on
            self._absence = f"unavailable: {type(error).__name__} while loading"
            log.error("loading the model again: %s", place_of(error))
        self._returned.set()

    async def _work(self, embedder: Embedder | None) -> bool:
        """Everything there is to do now; False when it must be tried again later."""
        try:
            await self._builder.use(embedder)
            self._faults.pop("index", None)
            if embedder and embedder is not self.embedder:
                await in_thread(lambda: self._school.load(embedder), deadline_s=30, what="reading what it learned")
                self.embedder, self._patient = embedder, CircuitBreakerEmbedder(embedder)
            if embedder:
                await self._builder.embed(embedder)
                self._state = "ready"
                if self._ignorant:
                    await self.train_classifier()
        except McpMemoryError as error:
            if self.embedder:
                self._state = f"failing: {error.message}"
            else:
                self._faults["index"] = Problem("index", error.message)
            return False
        except Exception as error:  # neither must a fault of ours: it is said, and tried again
            self._faults["model"] = Problem("model", f"{type(error).__name__} while embedding")
            log.error("embedding: %s", place_of(error))
            return False
        self._faults.pop("model", None)
        return True
