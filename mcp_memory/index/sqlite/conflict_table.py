"""Keep the conflicts of notes in the index's file: derived from the notes, and erased with them."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple

from mcp_memory.index.base import Index
from mcp_memory.index.sqlite.database import Database
from mcp_memory.models import Conflict, Etag, NotePath


class ConflictTable(Index):
    """The part of an index in SQLite that is about contradictions."""

    database: Database

    def conflicts(self) -> list[Conflict]:
        with self.database.read() as connection:
            rows = connection.execute("SELECT * FROM conflicts ORDER BY newer, older").fetchall()
        return [Conflict(*row) for row in rows]

    def compared(self) -> dict[NotePath, Etag]:
        with self.database.read() as connection:
            return dict(connection.execute("SELECT path, etag FROM compared").fetchall())

    def put_conflicts(self, compared: Mapping[NotePath, Etag | None], found: Sequence[Conflict]) -> None:
        with self.database.write() as connection:
            for path, etag in compared.items():
                if etag != "":
                    connection.execute("DELETE FROM conflicts WHERE older_path = ? OR newer_path = ?", (path, path))
                connection.execute("DELETE FROM compared WHERE path = ?", (path,))
                if etag:
                    connection.execute("INSERT INTO compared VALUES (?, ?)", (path, etag))
            rows = map(astuple, found)
            connection.executemany("INSERT OR REPLACE INTO conflicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
