"""A follower: what stands in memory of each generation, kept up with the database, and a file that spares the next
start the reading.

The database is the truth. A file that another database wrote, or that is ahead of ours, is thrown away at the start:
a power cut takes the database's last commits but not the file's, and their numbers will be used again.
"""

from __future__ import annotations

import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from mcp_memory.models import Problem

Held = TypeVar("Held")


class Follower(ABC, Generic[Held]):
    """Thread-safe: `_lock` guards `_held`, by the generation's number."""

    def __init__(self, folder: Path, report: Callable[[Problem], None]) -> None:
        self._folder = folder
        self._report = report
        self._lock = threading.Lock()
        self._held: dict[int, Held] = {}

    def save(self) -> None:
        """Write what the files lack, so that the next start reads less from the database."""
        with self._lock:
            for held in self._held.values():
                self._write(held)

    def forget(self, generation: int | None = None) -> None:
        """The generation (or every one) is gone, and so is what we hold of it."""
        with self._lock:
            if generation is None:
                self._held.clear()
            else:
                self._held.pop(generation, None)
        for file in self._files() if generation is None else [self._file(generation)]:
            file.unlink(missing_ok=True)

    def distrust(self, connection: sqlite3.Connection, generations: Iterable[int]) -> None:
        """At start: throw away each file that this database did not write or that is ahead of it."""
        (uid,) = connection.execute("SELECT uid FROM state").fetchone()
        trusted = {self._file(number) for number in generations if self._is_behind(connection, uid, number)}
        for file in self._files():
            if file not in trusted:
                file.unlink(missing_ok=True)

    @abstractmethod
    def _file(self, generation: int) -> Path: ...

    @abstractmethod
    def _files(self) -> Iterable[Path]:
        """Of every generation, remains of interrupted writing included."""

    @abstractmethod
    def _is_behind(self, connection: sqlite3.Connection, uid: str, generation: int) -> bool:
        """Whether there is a file of the database with this uid, and it is not ahead."""

    @abstractmethod
    def _write(self, held: Held) -> None: ...


def last_number(connection: sqlite3.Connection, table: str) -> int:
    """The highest number that the table has ever given."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", [table]).fetchone()
    return row[0] if row else 0
