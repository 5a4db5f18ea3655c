"""Decide which notes a search may return: a condition on the notes table, and its result as an array in memory.

Every retriever checks all its rows against it, so the array is indexed by the note's number.
"""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_memory.index.keywords.tokenizer import bindable
from mcp_memory.index.sqlite.row_codec import microseconds
from mcp_memory.index.sqlite.schema import MARKS, ORDINAL_BITS, Tables
from mcp_memory.models import (
    CHANNEL,
    EVERYWHERE,
    IMPORTED,
    IMPORTED_ID,
    INCUBATOR,
    PAGES,
    SESSION,
    Filters,
    PrivateMarks,
    is_channel,
    tag_name,
    unicode_forms,
)
from mcp_memory.runtime.lru_cache import LruCache

_KEPT = 16
_FOREIGN = (
    f"(substr(path, 1, 1) = '@' OR substr(id, 1, {len(IMPORTED_ID)}) = ?"
    " OR instr('/' || path, ?) > 0 OR instr('/' || path, ?) > 0)"
)
_FOREIGN_VALUES = (IMPORTED_ID, f"/{IMPORTED}/", f"/{INCUBATOR}/")


def condition(tables: Tables, filters: Filters) -> tuple[str, list[str | int]]:
    """Return the SQL condition on the notes table, and its values."""
    clauses: list[str] = []
    values: list[str | int] = []

    def add(clause: str, *bound: str | int) -> None:
        clauses.append(clause)
        values.extend(bound)

    add(f"state IN ({_marks(filters.states)})", *sorted(filters.states))
    if filters.path_prefix:
        add(*_below(filters.path_prefix))
    if filters.kinds is not None:
        add(f"kind IN ({_marks(filters.kinds)})", *sorted(map(bindable, filters.kinds)))
    for tag in sorted(map(tag_name, filters.tags or ())):
        add(f"number IN (SELECT number FROM {tables.tags} WHERE tag = ?)", bindable(tag))
    add(*_of_project(filters))
    if filters.session is not None:
        add("session = ?", bindable(filters.session))
    for name in ("always_load",) * filters.always_load + ("due",) * filters.due:
        add(MARKS[name])
    add(f"kind NOT IN ({_marks(filters.kinds_out)})", *sorted(map(bindable, filters.kinds_out)))
    for comparison, moment in ((">=", filters.since), ("<", filters.until)):
        if (bound := microseconds(moment)) is not None:
            add(f"date {comparison} ?", bound)
    if (now := microseconds(filters.now)) is not None:
        add("(expires IS NULL OR expires > ?)", now)
    if (ended := microseconds(filters.ended)) is not None:
        add("expires <= ?", ended)
    _select_by_origin(filters, add)
    if filters.private is not None:
        _leave_out(tables, filters.private, add)
        projects = [EVERYWHERE, *_projects(filters)]
        muted = f"SELECT 1 FROM json_each(record, '$.meta.muted') WHERE value IN ({_marks(projects)})"
        add(f"(instr(record, ?) = 0 OR NOT EXISTS ({muted}))", '"muted":', *projects)
    return " AND ".join(clauses), values


def _of_project(filters: Filters) -> tuple[str, ...]:
    """Return the clause for `Filters.admits_project`, and its values."""
    clause, *values = "1", *()
    if filters.project is not None:
        others = "" if is_channel(filters.project) else " OR project IS NULL"
        clause, values = f"(project IN ({_marks(filters.names)}){others})", _projects(filters)
    elif filters.private is not None:
        clause, values = f"(project IS NULL OR substr(project, 1, {len(CHANNEL)}) <> ?)", [CHANNEL]
    if filters.own is not None:
        pages = f"substr(project, 1, {len(SESSION)}) = ? OR state IN ({_marks(PAGES)})"
        clause = f"CASE WHEN {pages} THEN project = ? ELSE {clause} END"
        values = [SESSION, *sorted(PAGES), bindable(filters.own), *values]
    for place in sorted(filters.granted):
        below, *bounds = _below(place)
        clause, values = f"({clause} OR {below})", [*values, *bounds]
    return clause, *values


def _projects(filters: Filters) -> list[str]:
    return sorted(bindable(name) for name in filters.names if name is not None)


def _select_by_origin(filters: Filters, add: Callable[..., None]) -> None:
    """Add the clauses for foreign notes, and for `Filters.admits_author`."""
    if filters.foreign is not None:
        add(f"{'' if filters.foreign else 'NOT '}{_FOREIGN}", *_FOREIGN_VALUES)
    if filters.authors is None:
        return
    named = sorted(bindable(name) for name in filters.authors if name is not None)
    clause = f"instr(record, '\"is_log\":true') > 0 OR json_extract(record, '$.source') IN ({_marks(named)})"
    if None not in filters.authors:
        add(f"({clause})", *named)
        return
    below, *places = _below(filters.shared)
    clause += " OR json_extract(record, '$.source') IS NULL OR instr(record, '\"voice\":') > 0"
    add(f"({clause} OR {_FOREIGN} OR {below})", *named, *_FOREIGN_VALUES, *places)


def _below(prefix: str) -> tuple[str, ...]:
    """Return the clause for a file or folder, and its values; 0 is the character after the slash."""
    forms = [bindable(form) for form in unicode_forms(prefix)]
    folders = [form.removesuffix("/") for form in forms]
    bounds = [(form, f"{folder}/", f"{folder}0") for form, folder in zip(forms, folders, strict=True)]
    clauses = ["path = ? OR (path >= ? AND path < ?)"] * len(forms)
    return f"({' OR '.join(clauses)})", *chain.from_iterable(bounds)


def _leave_out(tables: Tables, private: PrivateMarks, add: Callable[..., None]) -> None:
    # Finding these keys takes a tenth of parsing the record; quotes within a text are escaped there.
    add("instr(record, ?) = 0", '"private":true')
    for folder in private.folders:
        if folder.startswith("/"):
            add("instr('/' || path, ?) <> 1", bindable(folder))
        else:
            add("instr('/' || path, ?) = 0", f"/{bindable(folder)}")
    if private.kinds:
        add(f"kind NOT IN ({_marks(private.kinds)})", *sorted(map(bindable, private.kinds)))
    for tag in sorted(map(tag_name, private.tags)):
        tagged = f"number IN (SELECT number FROM {tables.tags} WHERE tag = ?)"
        add(f"(instr(record, ?) > 0 OR NOT {tagged})", '"is_log":true', bindable(tag))


@dataclass(frozen=True)
class AdmittedNotes:
    """The notes that pass the filters: `table[number]`."""

    table: NDArray[np.bool_]

    def mask(self, chunk_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each chunk whether its note passes."""
        numbers = chunk_ids >> ORDINAL_BITS
        inside = numbers < self.table.size
        if inside.all():
            return self.table[numbers]
        return self.table[np.where(inside, numbers, 0)] & inside


class _Known(NamedTuple):
    """The notes admitted at a token, up to the note `number` and the removal `gone`."""

    token: int
    number: int
    gone: int
    admitted: AdmittedNotes


class AdmissionCache:
    """Remembers which notes are admitted and reads only what has changed since. Thread-safe."""

    def __init__(self) -> None:
        self._latest: LruCache[tuple[int, Filters], _Known] = LruCache(_KEPT)

    def clear(self) -> None:
        self._latest.clear()

    def get(self, connection: sqlite3.Connection, generation: int, token: int, filters: Filters) -> AdmittedNotes:
        """Return the admitted notes; `connection` is in the token's snapshot."""
        tables = Tables(generation)
        lasting = replace(filters, now=None)
        key = (generation, lasting)
        known = self._latest.get(key)
        if known is None or known.token != token:
            known = _update(connection, tables, token, lasting, known if known and known.token < token else None)
            self._latest.store(key, known)
        return _unexpired(connection, tables, known.admitted, filters.now)


def _update(
    connection: sqlite3.Connection, tables: Tables, token: int, filters: Filters, before: _Known | None
) -> _Known:
    first, oldest, gone = connection.execute(
        f"SELECT (SELECT max(number) FROM {tables.notes}), min(seq), max(seq) FROM {tables.gone}"
    ).fetchone()
    last, gone = first or 0, gone or 0
    if before is not None and oldest is not None and oldest > before.gone + 1:
        before = None  # removals since then are no longer on record
    clause, values = condition(tables, filters)
    rows = connection.execute(
        f"SELECT number FROM {tables.notes} WHERE number > ? AND {clause}", [before.number if before else 0, *values]
    )
    numbers = np.fromiter((row[0] for row in rows), dtype=np.int64)
    table = np.zeros(last + 1, dtype=np.bool_)
    if before:
        kept = before.admitted.table[: last + 1]
        table[: kept.size] = kept
        removed = connection.execute(
            f"SELECT number FROM {tables.gone} WHERE seq > ? AND number BETWEEN 0 AND ?", [before.gone, last]
        )
        table[[number for (number,) in removed]] = False
    table[numbers] = True
    return _Known(token, last, gone, AdmittedNotes(table))


def _unexpired(
    connection: sqlite3.Connection, tables: Tables, admitted: AdmittedNotes, now: datetime | None
) -> AdmittedNotes:
    """Look up expiry each time, because `now` differs with every question and few notes expire."""
    moment = microseconds(now)
    if moment is None:
        return admitted
    rows = connection.execute(f"SELECT number FROM {tables.notes} WHERE expires <= ?", [moment]).fetchall()
    if not rows:
        return admitted
    table = admitted.table.copy()
    table[[number for (number,) in rows]] = False
    return AdmittedNotes(table)


def _marks(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)
