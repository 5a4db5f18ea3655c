"""Circuit breaker: at most four callers wait for a hung model; after that it is skipped for 30 s.

An endpoint that has failed once is skipped until it answers a question that nobody waits for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from mcp_memory.embedders.base import Embedder, SentenceInContext
from mcp_memory.errors import EmbedderUnavailable, McpMemoryError

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


class CircuitBreakerEmbedder:
    """An `Embedder` around another one that may hang."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.fingerprint = embedder.fingerprint
        self.dimension = embedder.dimension
        self.resident = embedder.resident
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

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._call(lambda: self._embedder.embed_documents(texts))

    def embed_query(self, text: str) -> Vectors:
        return self._call(lambda: self._embedder.embed_query(text))

    def inner_states(self, texts: Sequence[str]) -> Vectors | None:
        return self._call(lambda: self._embedder.inner_states(texts))

    def states_in_context(self, sentences: Sequence[SentenceInContext]) -> Vectors | None:
        return self._call(lambda: self._embedder.states_in_context(sentences))

    def close(self) -> None:
        self._embedder.close()

    def _call(self, embed: Callable[[], _V]) -> _V:
        if not self._slots.acquire(timeout=PATIENCE_S):
            raise EmbedderUnavailable("the embedding model does not answer")
        call, begun = object(), monotonic()
        self._under_way[call] = begun
        is_done = False
        try:
            found = embed()
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
