"""The keyword legs: BM25 over the full-text tables, within a budget of postings.

Ranking a row costs about a microsecond, and a common word is in most rows. So where not all rows that match can be
ranked, those are that hold a word themselves, not only in their context; where they are too many as well, the rarest
words come first and those beyond the budget are left out. On 100,000 synthetic chunks and with a budget of 20,000
that keeps 99 % of a full ranking's best ten; leaving out words at once keeps 58 %.
A word that exceeds the budget and stands alone is answered without ranking, newest first: where every row matches,
no row is better.
"""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice

import numpy as np

from mcp_memory.index.filters import Admitted
from mcp_memory.index.schema import ORDINAL_BITS
from mcp_memory.index.words import any_of
from mcp_memory.models import Scored

MAX_PHRASES = 256
"""Of one query; a whole page pasted as a question is cut here."""

_BATCH = 512
_STALE_SHARE = 100
_FAINT = 1e-6
"""The score of a word that is in more than half of all rows: BM25's own floor in FTS5."""


class Reach(Enum):
    """Which rows a query ranks."""

    ANY_COLUMN = auto()
    OWN_TEXT = auto()
    """Those that hold a phrase in the first column; the other columns still count for their score."""
    NEWEST = auto()
    """None: one phrase beyond the budget, newest rows first."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Rows that hold a phrase in the first column, and in any."""

    own: int
    total: int


@dataclass(frozen=True, slots=True)
class Plan:
    """`phrases` to search for and how many `postings` that makes the engine rank."""

    phrases: tuple[str, ...]
    postings: int
    reach: Reach = Reach.ANY_COLUMN


def plan(costs: Mapping[str, Cost], budget: int) -> Plan:
    """All rows if the budget allows; else rows by their own text, rarest phrase first (ties by spelling).

    At least one phrase that occurs stays.
    """
    occurring = {phrase: cost for phrase, cost in sorted(costs.items()) if cost.total}
    everything = sum(cost.total for cost in occurring.values())
    if everything <= budget:
        return Plan(tuple(occurring), everything)
    kept: list[str] = []
    spent = 0
    for phrase, cost in sorted(occurring.items(), key=lambda entry: entry[1].own):
        if spent + cost.own > budget:
            break
        if cost.own:
            kept.append(phrase)
            spent += cost.own
    if kept:
        return Plan(tuple(kept), spent, Reach.OWN_TEXT)
    rarest = min(occurring, key=lambda phrase: occurring[phrase].total)
    return Plan((rarest,), occurring[rarest].total, Reach.NEWEST)


def phrases_of(terms: Iterable[str]) -> list[str]:
    """The distinct phrases of a query's terms, in order, at most `MAX_PHRASES`."""
    phrases = (phrase for term in terms for phrase in any_of(term))
    return list(islice(dict.fromkeys(phrases), MAX_PHRASES))


class FrequencyCache:
    """In how many rows of a table a match expression is true; thread-safe.

    Counting takes .05 µs a row. A count is good until 1 % as many rows have changed, so a rare word's is always
    exact and a common word's is seldom counted.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}

    def clear(self) -> None:
        with self._lock:
            self._counts.clear()

    def get(self, connection: sqlite3.Connection, table: str, match: str, churn: int) -> int:
        """`churn`: rows of the table ever written or removed."""
        with self._lock:
            known = self._counts.get((table, match))
        if known is not None and abs(churn - known[1]) * _STALE_SHARE <= known[0]:
            return known[0]
        (count,) = connection.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH ?", [match]).fetchone()
        if count >= _STALE_SHARE:
            with self._lock:
                if len(self._counts) >= 10_000:
                    self._counts.clear()
                self._counts[table, match] = (count, churn)
        return count


def search(
    connection: sqlite3.Connection, table: str, columns: Sequence[str], chosen: Plan, *, k: int, admitted: Admitted
) -> list[Scored]:
    """Best rows by the sum over `columns` of their BM25, each with its own frequencies; the length is the row's."""
    if not chosen.phrases or k <= 0 or admitted.count == 0:
        return []
    if chosen.reach is not Reach.NEWEST:
        rows = _rows(connection, table, _match(columns, chosen), "rank", admitted)
        return [Scored(row, -rank) for row, rank in islice(rows, k)]
    found: dict[int, Scored] = {}
    for place, column in enumerate(columns):
        rows = _rows(connection, table, f"{column} : {chosen.phrases[0]}", "rowid DESC", admitted)
        score = _FAINT * (len(columns) - place)
        fresh = (Scored(row, score) for row, _ in rows if row not in found)
        found |= {row.chunk_id: row for row in islice(fresh, k - len(found))}
    return list(found.values())


def _match(columns: Sequence[str], chosen: Plan) -> str:
    """The expression. A phrase that is looked for in every column is one phrase to BM25, whose frequency is that of
    all columns together: on documentation that finds 3 points more evidence than a phrase for each column."""
    if chosen.reach is Reach.ANY_COLUMN:
        return " OR ".join(chosen.phrases)
    own, *others = (" OR ".join(f"{column} : {phrase}" for phrase in chosen.phrases) for column in columns)
    # A context includes its chunk, so a row that passes the first part passes the second one too.
    return f"({own}) AND ({' OR '.join(others)})" if others else own


def _rows(
    connection: sqlite3.Connection, table: str, match: str, order: str, admitted: Admitted
) -> Iterable[tuple[int, float]]:
    """Admitted rows in order. They are read in batches, so that a broad filter costs no more than what is taken."""
    value = "rank" if order == "rank" else "0.0"
    narrow = ""
    values: list[str] = [match]
    if admitted.few:
        narrow = f"AND (rowid >> {ORDINAL_BITS}) IN (SELECT value FROM json_each(?))"
        values.append(json.dumps(admitted.numbers()))
    cursor = connection.execute(
        f"SELECT rowid, {value} FROM {table} WHERE {table} MATCH ? {narrow} ORDER BY {order}", values
    )
    while batch := cursor.fetchmany(_BATCH):
        keep = admitted.mask(np.array([row for row, _ in batch], dtype=np.int64))
        yield from (pair for pair, passes in zip(batch, keep.tolist(), strict=True) if passes)
