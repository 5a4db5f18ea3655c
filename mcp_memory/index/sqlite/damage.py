"""Distinguish a damaged file from other failures of SQLite, and turn both into our errors."""

import sqlite3

from mcp_memory.errors import IndexUnavailable
from mcp_memory.runtime.private_files import failed

_SIGNS_OF_DAMAGE = (
    "decode to UTF-8",
    "no such table",
    "no such column",
    "malformed database schema",
)
"""Messages that SQLite reports under its general code when the schema or a text is not what we wrote."""

_CODES_OF_DAMAGE = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_CONSTRAINT,  # our writes keep all constraints: a row and its index disagree
        sqlite3.SQLITE_MISMATCH,
    }
)

_CAUSES = {
    sqlite3.SQLITE_FULL: ("the disk is full", "free some space; searches go on with what is indexed"),
    sqlite3.SQLITE_READONLY: ("the index's folder is read-only", "make the state folder writable"),
    sqlite3.SQLITE_CANTOPEN: ("the index's file cannot be opened", "check the state folder"),
    sqlite3.SQLITE_BUSY: ("another process is writing to the index", "try again"),
    sqlite3.SQLITE_IOERR: ("the disk reports an error", "check the disk that holds the state folder"),
}


class DamagedRow(Exception):
    """A row has a value that we never write, so the file is damaged."""


def is_damage(error: Exception) -> bool:
    if isinstance(error, DamagedRow) or any(sign in str(error) for sign in _SIGNS_OF_DAMAGE):
        return True
    return _code(error) in _CODES_OF_DAMAGE


def unavailable(error: Exception) -> IndexUnavailable:
    if isinstance(error, OSError):
        refusal = failed(error, str(error.filename or "the state folder"))
        return IndexUnavailable(f"the index cannot be used: {refusal.message}", hint=refusal.hint)
    cause, hint = _CAUSES.get(_code(error), (str(error), None))
    return IndexUnavailable(f"the index cannot be used: {cause}", hint=hint)


def _code(error: Exception) -> int:
    """Return SQLite's primary result code; -1 if there is none."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else -1
