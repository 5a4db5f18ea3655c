"""Looks for damage that no query would meet: a lost page can leave a table that is valid and lacks rows."""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

import sqlite3
from collections.abc import Callable

from mcp_memory.index.sqlite import generations
from mcp_memory.index.sqlite.damage import DamagedRow
from mcp_memory.index.sqlite.schema import Tables

STEPS = 100_000
"""The steps of SQLite's virtual machine after which a long check looks whether it is still wanted."""

_KEPT_ONCE = ("state", "models", "generations")


def require_sound(connection: sqlite3.Connection) -> None:
    """Check in some milliseconds the data that everything else depends on: the shared tables, and how many rows each
    generation has. Raises DamagedRow or sqlite3.Error."""
    for table in _KEPT_ONCE:
        _require(connection, f"PRAGMA integrity_check('{table}')", "ok", table)
    _require(connection, "SELECT count(*) FROM state", 1, "state")
    lost = "SELECT count(*) FROM generations WHERE model NOT IN (SELECT id FROM models)"
    _require(connection, lost, 0, "models")
    for generation in generations.all_generations(connection):
        tables = Tables(generation.number)
        for column, table in (("notes", tables.notes), ("chunks", tables.chunks), ("pending", tables.pending)):
            difference = f"SELECT (SELECT {column} FROM generations WHERE number = ?) - (SELECT count(*) FROM {table})"
            _require(connection, difference, 0, table, generation.number)


def require_sound_throughout(connection: sqlite3.Connection, is_unwanted: Callable[[], bool]) -> None:
    """Check every page, .4 s for 10,000 notes, unless it becomes unwanted meanwhile. Raises the errors of
    `require_sound`."""
    connection.set_progress_handler(is_unwanted, STEPS)
    try:
        _require(connection, "PRAGMA integrity_check(1)", "ok", "the file")
        require_sound(connection)
        for generation in generations.all_generations(connection):
            tables = Tables(generation.number)
            with_words = f"SELECT (SELECT count(*) FROM {tables.notes} WHERE size > 0) - count(*) FROM {tables.words}"
            _require(connection, with_words, 0, tables.words)
    finally:
        connection.set_progress_handler(None, 0)


def _require(connection: sqlite3.Connection, query: str, expected: object, what: str, *values: int) -> None:
    (found,) = connection.execute(query, values).fetchone()
    if found != expected:
        raise DamagedRow(f"{what} lacks rows" if isinstance(found, int) else f"{what}: {found}")
