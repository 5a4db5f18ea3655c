"""Keep the links of notes, and the names by which links find notes.

A link's target is looked up when asked, so that it doesn't matter which of the two notes was indexed first.
"""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

import sqlite3
from collections.abc import Sequence
from functools import cache, partial

from mcp_memory.index.keywords.tokenizer import bindable
from mcp_memory.index.sqlite.conflict_table import ConflictTable
from mcp_memory.index.sqlite.schema import Tables
from mcp_memory.index.sqlite.snapshot import open_snapshot
from mcp_memory.models import NotePath, NoteRecord, NoteState
from mcp_memory.text.markdown.note_links import NoteLink, ResolvedLink, names_of

_LATER = {NoteState.SUMMARY: 5, NoteState.DELETED: 10}
"""A note's name wins over a page's, and a page's over a forgotten note's."""
_LINK = "path, line, at, link.kind, type, target, key"


def insert(
    connection: sqlite3.Connection, tables: Tables, number: int, note: NoteRecord, links: Sequence[NoteLink]
) -> None:
    """Insert the names and links of a note with this number. Inside the caller's transaction."""
    names = names_of(note.path, note.id, note.title, note.meta.get("aliases", ()))
    connection.executemany(
        f"INSERT OR IGNORE INTO {tables.names} VALUES (?, ?, ?)",
        [(bindable(name), rank + _LATER.get(note.state, 0), number) for name, rank in names.items()],
    )
    rows = [(link.line, link.at, *map(bindable, (link.kind, link.type, link.target, link.key))) for link in links]
    connection.executemany(f"INSERT INTO {tables.links} VALUES ({number}, ?, ?, ?, ?, ?, ?)", rows)


def remove(connection: sqlite3.Connection, tables: Tables, number: int) -> None:
    """Remove the names and links of a note. Inside the caller's transaction."""
    connection.execute(f"DELETE FROM {tables.names} WHERE number = ?", [number])
    connection.execute(f"DELETE FROM {tables.links} WHERE number = ?", [number])


class LinkTable(ConflictTable):
    """The part of an index in SQLite that is about links."""

    def named(self, key: str) -> list[NotePath]:
        with open_snapshot(self.database) as now:
            return list(_named(now.connection, now.tables, bindable(key))) if now else []

    def links_from(self, path: NotePath | None = None) -> list[ResolvedLink]:
        with open_snapshot(self.database) as now:
            if now is None:
                return []
            connection, tables = now.connection, now.tables
            wanted, values = ("WHERE path = ?", [bindable(path)]) if path is not None else ("", [])
            joined = f"{tables.notes} JOIN {tables.links} link USING (number)"
            rows = connection.execute(f"SELECT {_LINK} FROM {joined} {wanted} ORDER BY path, at", values)
            find = cache(partial(_named, connection, tables))
            return [ResolvedLink(NotePath(row[0]), NoteLink(*row[1:]), find(row[-1])) for row in rows.fetchall()]

    def links_to(self, path: NotePath, limit: int = 100_000) -> tuple[list[ResolvedLink], int]:
        with open_snapshot(self.database) as now:
            if now is None:
                return [], 0
            connection, tables = now.connection, now.tables
            names = connection.execute(
                f"SELECT name, number FROM {tables.names} JOIN {tables.notes} USING (number) WHERE path = ?",
                [bindable(path)],
            ).fetchall()
            own = [name for name, _ in names if _named(connection, tables, name) == (bindable(path),)]
            if not own:
                return [], 0
            wanted = f"key IN ({', '.join('?' for _ in own)}) AND number != ?"
            values = [*own, names[0][1]]
            (count,) = connection.execute(f"SELECT count(*) FROM {tables.links} WHERE {wanted}", values).fetchone()
            rows = connection.execute(
                f"SELECT {_LINK} FROM {tables.links} link JOIN {tables.notes} USING (number) WHERE {wanted}"
                " ORDER BY path, at LIMIT ?",
                [*values, max(limit, 0)],
            )
            return [ResolvedLink(NotePath(row[0]), NoteLink(*row[1:]), (path,)) for row in rows], count


def _named(connection: sqlite3.Connection, tables: Tables, name: str) -> tuple[NotePath, ...]:
    rows = connection.execute(
        f"""SELECT path FROM {tables.names} JOIN {tables.notes} USING (number) WHERE name = ?1
            AND rank = (SELECT rank FROM {tables.names} WHERE name = ?1 ORDER BY rank LIMIT 1) ORDER BY path""",
        [name],
    )
    return tuple(NotePath(path) for (path,) in rows)
