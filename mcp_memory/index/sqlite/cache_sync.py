"""Keep a cache in memory of each generation in step with the database, and in a file for a faster next start.

The database is authoritative. A file that another database wrote, or that is ahead of ours, is deleted at the start. A
power cut can lose the database's latest commits but not the file's, and then their numbers are used again.
"""

import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar

from mcp_memory.errors import IndexUnavailable
from mcp_memory.index.base import Generation
from mcp_memory.models import Problem

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

    _file_name: ClassVar[str]
    """The file's name, with `{}` for the generation's number."""

    def __init__(self, folder: Path, report: Callable[[Problem], None]) -> None:
        self._folder = folder
        self._report = report
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
        """Write what the files lack. A reading under way ends with IndexUnavailable."""
        self._closed = True
        with self._lock:
            known = list(self._held.values())
        for held in known:
            self._write(held)

    def forget(self, generation: int | None = None) -> None:
        """Drop the cache of the generation, or of all."""
        with self._lock:
            for number in [*self._held] if generation is None else [generation]:
                self._held.pop(number, None)
                self._done.pop(number, None)
        for file in self._files() if generation is None else [self._file(generation)]:
            file.unlink(missing_ok=True)

    def delete_untrusted(self, connection: sqlite3.Connection, generations: Iterable[int]) -> None:
        """At the start, delete each file that this database did not write or that is ahead of it."""
        (uid,) = connection.execute("SELECT uid FROM state").fetchone()
        trusted = {self._file(number) for number in generations if self._is_behind(connection, uid, number)}
        for file in self._files():
            if file not in trusted:
                file.unlink(missing_ok=True)

    def _tell(self, generation: int, done: float) -> None:
        """Record how much of a reading is done. Raises IndexUnavailable if the index has been closed."""
        if self._closed:
            raise IndexUnavailable("the index is closed")
        self._done[generation] = done

    def _held_for(self, connection: sqlite3.Connection, generation: Generation) -> Held:
        """Return the cache of the generation, at first from its file; called with `_lock`."""
        held = self._held.get(generation.number)
        if held is None:
            (uid,) = connection.execute("SELECT uid FROM state").fetchone()
            held = self._held[generation.number] = self._load(uid, generation)
        return held

    def _file(self, generation: int) -> Path:
        return self._folder / self._file_name.format(generation)

    def _files(self) -> Iterable[Path]:
        """Return the files of all generations, including those left by an interrupted write."""
        return self._folder.glob(f"{self._file_name.format('*')}*")

    @abstractmethod
    def _load(self, uid: str, generation: Generation) -> Held:
        """Load the generation's file, if the database with this uid wrote it."""

    @abstractmethod
    def _is_behind(self, connection: sqlite3.Connection, uid: str, generation: int) -> bool:
        """Return whether the file belongs to the database with this uid and is not ahead of it."""

    @abstractmethod
    def _write(self, held: Held) -> None:
        """Write the file; called without `_lock`."""


def last_number(connection: sqlite3.Connection, table: str) -> int:
    """Return the highest number that the table has ever assigned."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", [table]).fetchone()
    return row[0] if row else 0
