"""Creates, lists, activates and drops generations.

Every function runs inside the caller's transaction.
"""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

import sqlite3

from mcp_memory.errors import NotFound, PreconditionFailed, Refused
from mcp_memory.index.base import Generation
from mcp_memory.index.sqlite.schema import Tables

KEPT_MODELS = 2
"""The models whose vectors are kept after a change to another one, so that changing back embeds nothing again."""


def all_generations(connection: sqlite3.Connection) -> list[Generation]:
    """Return all generations, oldest first."""
    rows = connection.execute(
        "SELECT number, fingerprint, embedding, dimension, active FROM generations ORDER BY number"
    )
    return [Generation(*row[:4], active=bool(row[4])) for row in rows]


def require(connection: sqlite3.Connection, number: int) -> Generation:
    """Return a generation. Raises NotFound."""
    for generation in all_generations(connection):
        if generation.number == number:
            return generation
    raise NotFound(f"the index has no generation {number}")


def model_of(connection: sqlite3.Connection, number: int) -> int:
    """Return the model under which the generation's vectors are cached."""
    (model,) = connection.execute("SELECT model FROM generations WHERE number = ?", [number]).fetchone()
    return model


def create(connection: sqlite3.Connection, fingerprint: str, embedding: str, dimension: int) -> Generation:
    """Make an empty generation; its fingerprint must be new."""
    connection.execute("INSERT INTO models (embedding) VALUES (?) ON CONFLICT DO NOTHING", [embedding])
    (model,) = connection.execute("SELECT id FROM models WHERE embedding = ?", [embedding]).fetchone()
    (number,) = connection.execute(
        "INSERT INTO generations (fingerprint, embedding, model, dimension) VALUES (?, ?, ?, ?) RETURNING number",
        [fingerprint, embedding, model, dimension],
    ).fetchone()
    for statement in Tables(number).create():
        connection.execute(statement)
    return Generation(number, fingerprint, embedding, dimension, active=False)


def activate(connection: sqlite3.Connection, number: int, expected: int | None) -> None:
    """Activate a generation. Raises NotFound, and PreconditionFailed unless `expected` is active (None: no generation
    is)."""
    require(connection, number)
    current = next((generation.number for generation in all_generations(connection) if generation.active), None)
    if current != expected:
        raise PreconditionFailed(f"generation {current} is active, not {expected}")
    connection.execute("UPDATE generations SET active = (number = ?)", [number])


def drop(connection: sqlite3.Connection, number: int) -> None:
    """Drop a generation, and the cached embeddings of models that no generation uses, but for the newest of them.
    Raises NotFound, and Refused for the active one."""
    if require(connection, number).active:
        raise Refused(f"generation {number} is active", hint="activate another one first")
    for statement in Tables(number).drop():
        connection.execute(statement)
    connection.execute("DELETE FROM generations WHERE number = ?", [number])
    unused = "FROM models WHERE embedding <> '' AND id NOT IN (SELECT model FROM generations)"
    connection.execute(f"DELETE {unused} AND id NOT IN (SELECT id {unused} ORDER BY id DESC LIMIT {KEPT_MODELS})")
    forget_unused(connection)


def forget_unused(connection: sqlite3.Connection) -> None:
    """Delete cached embeddings that no chunk of any generation uses. An earlier model keeps those of texts that a
    generation has an embedding of."""
    used = [f"SELECT embedding FROM {Tables(generation.number).vectors}" for generation in all_generations(connection)]
    in_use = "model IN (SELECT model FROM generations)"
    connection.execute(f"DELETE FROM embeddings WHERE {in_use} AND id NOT IN ({' UNION '.join(used)})")
    has_twin = f"EXISTS (SELECT 1 FROM embeddings AS twin WHERE twin.{in_use} AND twin.hash = embeddings.hash)"
    is_kept = f"model IN (SELECT id FROM models) AND {has_twin}"
    connection.execute(f"DELETE FROM embeddings WHERE NOT {in_use} AND NOT ({is_kept})")
