"""Which notes a search may look at: a condition on the notes' table, and its outcome as a table in memory.

Both legs ask the table for every row they meet, which is why it is an array indexed by the note's number. It is
computed once per token and set of filters. Expiry is kept out of it: `now` differs in every question, but the
number of notes that have expired hardly ever does.
"""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

from __future__ import annotations

import sqlite3
import threading
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.index.rows import microseconds
from mcp_memory.index.schema import ORDINAL_BITS, Tables
from mcp_memory.index.words import bindable
from mcp_memory.models import Filters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_KEPT = 16


def condition(tables: Tables, filters: Filters) -> tuple[str, list[str | int]]:
    """The SQL condition on the notes' table, and its values."""
    clauses: list[str] = []
    values: list[str | int] = []

    def add(clause: str, *bound: str | int) -> None:
        clauses.append(clause)
        values.extend(bound)

    add(f"shelf IN ({_marks(filters.shelves)})", *sorted(filters.shelves))
    if filters.path_prefix:
        prefix = bindable(filters.path_prefix)
        folder = prefix.removesuffix("/")
        # A name without a slash may be either; 0 is the character after the slash.
        add("(path = ? OR (path >= ? AND path < ?))", prefix, f"{folder}/", f"{folder}0")
    if filters.kinds is not None:
        add(f"kind IN ({_marks(filters.kinds)})", *sorted(map(bindable, filters.kinds)))
    for tag in sorted(filters.tags or ()):
        add(f"number IN (SELECT number FROM {tables.tags} WHERE tag = ?)", bindable(tag))
    if filters.project is not None:
        add("(project = ? OR project IS NULL)", bindable(filters.project))
    if filters.session is not None:
        add("session = ?", bindable(filters.session))
    for comparison, moment in ((">=", filters.since), ("<", filters.until)):
        if (bound := microseconds(moment)) is not None:
            add(f"date {comparison} ?", bound)
    if (now := microseconds(filters.now)) is not None:
        add("(expires IS NULL OR expires > ?)", now)
    return " AND ".join(clauses), values


@dataclass(frozen=True, slots=True)
class Admitted:
    """The notes that pass: `table[number - first]`."""

    first: int
    table: NDArray[np.bool_]
    count: int
    total: int
    """Notes of the generation."""

    @property
    def few(self) -> bool:
        """So few that it pays to ask only for their rows."""
        return self.count * 8 < self.total

    def numbers(self) -> list[int]:
        """The notes' numbers, ascending."""
        return (np.flatnonzero(self.table) + self.first).tolist()

    def mask(self, chunk_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """For each chunk whether its note passes."""
        if self.table.size == 0:
            return np.zeros(len(chunk_ids), dtype=np.bool_)
        at = (chunk_ids >> ORDINAL_BITS) - self.first
        inside = (at >= 0) & (at < self.table.size)
        if inside.all():
            return self.table[at]
        return self.table[np.where(inside, at, 0)] & inside


@dataclass(frozen=True, slots=True)
class _Expiring:
    moments: list[int]
    numbers: list[int]


class AdmissionCache:
    """Remembers who is admitted; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[int, int, Filters, int], Admitted] = OrderedDict()
        self._expiring: tuple[tuple[int, int], _Expiring] = ((-1, -1), _Expiring([], []))

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._expiring = ((-1, -1), _Expiring([], []))

    def get(self, connection: sqlite3.Connection, generation: int, token: int, filters: Filters) -> Admitted:
        """Reads the notes' table at most once per token and filters; `connection` stands in the token's snapshot."""
        tables = Tables(generation)
        expired = self._expired(connection, tables, token, filters)
        key = (generation, token, replace(filters, now=None), len(expired))
        with self._lock:
            known = self._entries.get(key)
            if known is not None:
                self._entries.move_to_end(key)
                return known
        admitted = _admit(connection, tables, replace(filters, now=None), expired)
        with self._lock:
            self._entries[key] = admitted
            while len(self._entries) > _KEPT:
                self._entries.popitem(last=False)
        return admitted

    def _expired(self, connection: sqlite3.Connection, tables: Tables, token: int, filters: Filters) -> list[int]:
        now = microseconds(filters.now)
        if now is None:
            return []
        with self._lock:
            key, expiring = self._expiring
        if key != (tables.generation, token):
            rows = connection.execute(
                f"SELECT expires, number FROM {tables.notes} WHERE expires IS NOT NULL ORDER BY expires, number"
            ).fetchall()
            expiring = _Expiring([row[0] for row in rows], [row[1] for row in rows])
            with self._lock:
                self._expiring = ((tables.generation, token), expiring)
        return expiring.numbers[: bisect_right(expiring.moments, now)]


def _admit(connection: sqlite3.Connection, tables: Tables, filters: Filters, expired: list[int]) -> Admitted:
    clause, values = condition(tables, filters)
    rows = connection.execute(f"SELECT number FROM {tables.notes} WHERE {clause}", values)
    numbers = np.fromiter((row[0] for row in rows), dtype=np.int64)
    (total,) = connection.execute("SELECT notes FROM generations WHERE number = ?", [tables.generation]).fetchone()
    if numbers.size == 0:
        return Admitted(0, np.zeros(0, dtype=np.bool_), 0, total)
    first, last = int(numbers.min()), int(numbers.max())
    table = np.zeros(last - first + 1, dtype=np.bool_)
    table[numbers - first] = True
    gone = np.array([number for number in expired if first <= number <= last], dtype=np.int64)
    table[gone - first] = False
    return Admitted(first, table, int(table.sum()), total)


def _marks(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)
