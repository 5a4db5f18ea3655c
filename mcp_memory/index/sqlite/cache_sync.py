"""Keep a cache in memory of each generation in step with the database."""

import sqlite3
import threading
from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

from mcp_memory.errors import IndexUnavailable
from mcp_memory.index.base import Generation

FEW = 5000
"""The passages that a search reads itself; that takes about 20 ms."""


class _Cache(Protocol):
    def is_near(self, connection: sqlite3.Connection) -> bool:
        """Return whether at most about `FEW` passages are newer."""
        ...


Held = TypeVar("Held", bound=_Cache)


class CacheSync(ABC, Generic[Held]):
    """A cache for each generation. Thread-safe: `_lock` guards changes of `_held`, by the generation's number. `unread`
    looks without it, since a long reading keeps the lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[int, Held] = {}
        self._done: dict[int, float] = {}
        self._closed = False

    def unread(self, connection: sqlite3.Connection, generation: Generation) -> float | None:
        """Return the share of a long reading that is done, 0 to 1; None if the next search need not wait for one. Never
        waits. `connection` is in the snapshot that would be read."""
        held = self._held.get(generation.number)
        if held is not None and held.is_near(connection):
            return None
        return self._done.get(generation.number, 0.0)

    def close(self) -> None:
        """End. A reading under way ends with IndexUnavailable."""
        self._closed = True

    def forget(self, generation: int | None = None) -> None:
        """Drop the cache of the generation, or of all."""
        with self._lock:
            for number in [*self._held] if generation is None else [generation]:
                self._held.pop(number, None)
                self._done.pop(number, None)

    def _tell(self, generation: int, done: float) -> None:
        """Record how much of a reading is done. Raises IndexUnavailable if the index has been closed."""
        if self._closed:
            raise IndexUnavailable("the index is closed")
        self._done[generation] = done

    def _held_for(self, connection: sqlite3.Connection, generation: Generation) -> Held:
        """Return the cache of the generation; called with `_lock`."""
        held = self._held.get(generation.number)
        if held is None:
            held = self._held[generation.number] = self._load(connection, generation)
        return held

    @abstractmethod
    def _load(self, connection: sqlite3.Connection, generation: Generation, /) -> Held:
        """Make the cache of the generation, which may be behind the database."""


def last_number(connection: sqlite3.Connection, table: str) -> int:
    """Return the highest number that the table has ever assigned."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", [table]).fetchone()
    return row[0] if row else 0
