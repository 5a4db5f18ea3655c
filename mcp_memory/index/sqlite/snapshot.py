"""Open the active generation inside one transaction, so that all reads of a question see the same state."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from mcp_memory.index.base import Generation
from mcp_memory.index.sqlite.database import Database
from mcp_memory.index.sqlite.schema import Tables


@dataclass(frozen=True)
class Snapshot:
    """The active generation inside one transaction."""

    connection: sqlite3.Connection
    generation: Generation
    tables: Tables
    chunks: int
    token: int


@contextmanager
def open_snapshot(database: Database) -> Generator[Snapshot | None]:
    """Open the active generation; None if there is none."""
    with database.read() as connection:
        row = connection.execute(
            "SELECT number, fingerprint, embedding, dimension, chunks, token FROM generations, state WHERE active"
        ).fetchone()
        if row is None:
            yield None
        else:
            *facts, chunks, token = row
            yield Snapshot(connection, Generation(*facts, active=True), Tables(facts[0]), chunks, token)
