"""Patience: a model that hangs keeps few of those who ask, and a while later nobody."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import EmbedderUnavailable, McpMemoryError

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

PATIENCE_S = 2.0
"""A question's vector takes a model in this process 2 ms, and an endpoint some tenths of a second."""

PAUSE_S = 30.0
"""After a call that took longer, how long nobody asks."""

AT_ONCE = 4
"""More questions wait for these: they would only share the same cores."""


class CircuitBreakerEmbedder:
    """Implements `Embedder` for people who wait, around one that may hang. At most `AT_ONCE` threads wait for it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._under_way: dict[object, float] = {}
        self._paused_until = 0.0

    @property
    def answering(self) -> bool:
        """Whether it is worth asking: no call is overdue, and none was of late."""
        now = monotonic()
        begun = min(self._under_way.copy().values(), default=now)
        return now - begun <= PATIENCE_S and now >= self._paused_until

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def resident(self) -> bool:
        return self._embedder.resident

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), in the order given. Raises EmbedderUnavailable."""
        return self._ask(lambda: self._embedder.embed_documents(texts))

    def embed_query(self, text: str) -> Vectors:
        """Shape (dimension,). Raises EmbedderUnavailable."""
        return self._ask(lambda: self._embedder.embed_query(text))

    def close(self) -> None:
        self._embedder.close()

    def _ask(self, call: Callable[[], Vectors]) -> Vectors:
        if not self._places.acquire(timeout=PATIENCE_S):
            raise EmbedderUnavailable("the embedding model does not answer")
        asked, begun = object(), monotonic()
        self._under_way[asked] = begun
        try:
            return call()
        except McpMemoryError:
            raise
        except Exception as error:  # another package's model may raise anything; a text may be in its words
            raise EmbedderUnavailable(f"the embedding model failed ({type(error).__name__})") from error
        finally:
            del self._under_way[asked]
            if monotonic() - begun > PATIENCE_S:
                self._paused_until = monotonic() + PAUSE_S
            self._places.release()
