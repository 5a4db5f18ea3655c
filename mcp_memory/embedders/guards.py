"""Wraps an embedder: after four calls hang, it is skipped for a while, and it is unloaded while idle.

An endpoint that has failed once is skipped until it answers a question that nobody waits for.

Loading the bundled model on two cores takes 0.2 s the first time, then 0.07 to 0.1 s, and 45 to 55 MB.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from mcp_memory.embedders.base import Embedder, SentenceInContext
from mcp_memory.errors import EmbedderUnavailable, McpMemoryError
from mcp_memory.runtime.allocator import give_back

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

_V = TypeVar("_V")

PATIENCE_S = 2.0
"""The longest call that is waited for. A model in this process embeds a question in 2 ms, an endpoint in some 0.1 s."""

PAUSE_S = 30.0
"""The time for which the model is skipped after a call that took longer than `PATIENCE_S`, and an endpoint isn't called
again."""

AT_ONCE = 4
"""The most waiting questions; more would only share the same cores."""


class _GuardedEmbedder(ABC):
    """An `Embedder` that passes each call on to another one."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._call(lambda embedder: embedder.embed_documents(texts))

    def embed_query(self, text: str) -> Vectors:
        return self._call(lambda embedder: embedder.embed_query(text))

    def inner_states(self, texts: Sequence[str]) -> Vectors | None:
        return self._call(lambda embedder: embedder.inner_states(texts))

    def states_in_context(self, sentences: Sequence[SentenceInContext]) -> Vectors | None:
        return self._call(lambda embedder: embedder.states_in_context(sentences))

    @abstractmethod
    def _call(self, embed: Callable[[Embedder], _V]) -> _V: ...


class CircuitBreakerEmbedder(_GuardedEmbedder):
    """An `Embedder` around another one that may hang."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.fingerprint = embedder.fingerprint
        self.dimension = embedder.dimension
        self.resident = embedder.resident
        self.texts_at_once = embedder.texts_at_once
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._under_way: dict[object, float] = {}
        self._paused_until = 0.0
        self._is_down = False
        self._asking = threading.Lock()

    @property
    def answering(self) -> bool:
        """Return whether a call is worthwhile: no call is overdue now or was recently. An endpoint that is down is
        called again in the background."""
        now = monotonic()
        begun = min(self._under_way.copy().values(), default=now)
        if now - begun > PATIENCE_S or now < self._paused_until:
            return False
        if self._is_down and self._asking.acquire(blocking=False):
            threading.Thread(target=self._ask_again, name="embedder", daemon=True).start()
        return not self._is_down

    def resume(self) -> None:
        """Stop skipping the model, after it was seen to answer."""
        self._is_down, self._paused_until = False, 0.0

    def close(self) -> None:
        self._embedder.close()

    def _call(self, embed: Callable[[Embedder], _V]) -> _V:
        if not self._slots.acquire(timeout=PATIENCE_S):
            raise EmbedderUnavailable("the embedding model does not answer")
        call, begun = object(), monotonic()
        self._under_way[call] = begun
        is_done = False
        try:
            found = embed(self._embedder)
            is_done = True
            return found
        except McpMemoryError:
            raise
        except Exception as error:  # another package's model may raise anything, with the text in its message
            raise EmbedderUnavailable(f"the embedding model failed ({type(error).__name__})") from error
        finally:
            del self._under_way[call]
            is_late = monotonic() - begun > PATIENCE_S
            if not self.resident:
                self._is_down = is_late or not is_done
            elif is_late:
                self._paused_until = monotonic() + PAUSE_S
            self._slots.release()

    def _ask_again(self) -> None:
        try:
            self.embed_query("question")
        except McpMemoryError:
            self._paused_until = monotonic() + PAUSE_S
        finally:
            self._asking.release()


class IdleUnloadEmbedder(_GuardedEmbedder):
    """An `Embedder` around one that `reopen` opens again; thread-safe. Callers wait while it loads."""

    resident = True

    def __init__(self, opened: Embedder, reopen: Callable[[], Embedder]) -> None:
        self._embedder: Embedder | None = opened
        self._reopen = reopen
        self.fingerprint = opened.fingerprint
        self.dimension = opened.dimension
        self.texts_at_once = opened.texts_at_once
        self._guard = threading.Lock()
        self._users = 0
        self._used_s = monotonic()
        self._closed = False

    @property
    def loaded(self) -> bool:
        return self._embedder is not None

    def load(self) -> None:
        """Load the model if it is unloaded, and restart the idle time. Raises the errors of opening."""
        self._call(lambda _: None)

    def rest(self, after_s: float) -> bool:
        """Unload the model if no text came for `after_s` and none is being embedded; return whether it did."""
        with self._guard:
            if self._embedder is None or self._users or monotonic() - self._used_s < after_s:
                return False
            self._embedder.close()
            self._embedder = None
        give_back()
        return True

    def close(self) -> None:
        with self._guard:
            self._closed = True
            if self._embedder:
                self._embedder.close()
            self._embedder = None

    def _call(self, embed: Callable[[Embedder], _V]) -> _V:
        with self._guard:
            embedder = self._embedder = self._embedder or self._opened()
            self._users += 1
        try:
            return embed(embedder)
        finally:
            with self._guard:
                self._users -= 1
                self._used_s = monotonic()

    def _opened(self) -> Embedder:
        """Open the model. Raises EmbedderUnavailable for a different model, whose vectors could not be compared with
        the index's vectors."""
        if self._closed:
            raise EmbedderUnavailable("the embedding model is closed")
        embedder = self._reopen()
        if embedder.fingerprint == self.fingerprint:
            return embedder
        embedder.close()
        raise EmbedderUnavailable("another embedding model is in its place now", hint="mcp-memory stop, then start")
