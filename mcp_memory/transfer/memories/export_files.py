"""Reads other programs' exports: JSON files in a zip as it was downloaded, in a folder or alone, and SQLite databases.

An export may be one array of hundreds of megabytes: it is read element by element. Nothing is unpacked or changed, and
of a file that is cut off or damaged what comes before the damage is read.
"""

import io
import json
import re
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast
from urllib.parse import quote

from mcp_memory.errors import InvalidInput, StorageFailed
from mcp_memory.runtime.os_errors import naming_the_cause, reason
from mcp_memory.text.escape_invisible import printable
from mcp_memory.transfer.item import SkippedItem

MOST_ELEMENT_CHARS = 32 << 20
"""The longest conversation, or file that is no array; real ones have a few megabytes."""

MOST_RATIO = 100
"""The ratio of a large file's size to its size in the zip; conversations have about 5."""

_ENDINGS = (".json", ".af")
_STEP_CHARS = 1 << 20
_GAP = re.compile(r"[\s,]*")


class ExportFiles:
    """`left_out` and `account`, whose export it is, fill while it is read. `made` is when it was, as far as its file
    says."""

    def __init__(self, root: Path, scratch: Path) -> None:
        """`scratch` is a folder for copies. Raises InvalidInput for a damaged zip, StorageFailed."""
        self.root, self.account, self.left_out = root, "", list[SkippedItem]()
        self._scratch = scratch
        with naming_the_cause(str(root)):
            self.made = datetime.fromtimestamp(root.stat().st_mtime, UTC)
            if root.is_file() and zipfile.is_zipfile(root):
                files = self._in_zip()
            else:
                found = [*root.glob("*"), *root.glob("*/*")] if root.is_dir() else [root]
                files = [(file, partial(file.open, "rb")) for file in found if file.is_file() and not file.is_symlink()]
        self._files: dict[str, Callable[[], IO[bytes]]] = {
            f"{file.parent.name}/{file.name}": opened for file, opened in files if file.name.endswith(_ENDINGS)
        }

    def values(self, pattern: str = "") -> Iterator[object]:
        """Yields what the files hold whose path matches: the elements of an array one by one, else the whole."""
        for path, opened in self._files.items():
            number, name = 0, path.partition("/")[2]
            try:
                if re.search(pattern, path):
                    with opened() as raw:
                        for value in _elements(raw):
                            yield json.loads(value) if isinstance(value, str) else value
                            number += 1
            except (ValueError, RecursionError):
                self.leave(name, f"it is cut off, or no JSON, after {number:,} read")
            except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
                why = reason(error) if isinstance(error, OSError) else str(error) or type(error).__name__
                self.leave(name, f"not readable: {why}")

    def tables(self) -> frozenset[str]:
        """Returns the names of a database's tables; none for any other file. Raises StorageFailed."""
        with naming_the_cause(str(self.root)):
            if self.root.is_dir() or not self.root.open("rb").read(16).startswith(b"SQLite format 3\0"):
                return frozenset()
        found = self._select("SELECT name FROM sqlite_master WHERE type = 'table'")
        return frozenset(str(row["name"]) for row in found)

    def rows(self, table: str, order: str) -> Iterator[dict[str, Any]]:
        """Reads a table; a view of this name could be endless. Raises InvalidInput without one, StorageFailed."""
        if table not in self.tables():
            raise InvalidInput(f"{self.root} has no table {table}", hint="mcp-memory import --help")
        yield from self._select(f"SELECT * FROM {table} ORDER BY {order}")  # noqa: S608 -- both are a reader's own words

    def _select(self, query: str) -> Iterator[dict[str, Any]]:
        """With a write-ahead log a copy is read: SQLite would write beside the original. Raises StorageFailed."""
        log, place = self.root.with_name(f"{self.root.name}-wal"), f"file:{quote(str(self.root))}?mode=ro&immutable=1"
        with naming_the_cause(str(self.root)):
            if log.is_file() and log.stat().st_size:
                shutil.copyfile(self.root, copy := self._scratch / "copy.db")
                shutil.copyfile(log, f"{copy}-wal")
                place = f"file:{copy}"
            try:
                with closing(sqlite3.connect(place, uri=True)) as connection:
                    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
                    connection.row_factory = sqlite3.Row
                    yield from map(dict, connection.execute(query))
            except sqlite3.Error as error:
                hint = "close the program that it belongs to"
                raise StorageFailed(f"{self.root} cannot be read: {error}", hint=hint) from error

    def _in_zip(self) -> list[tuple[PurePosixPath, Callable[[], IO[bytes]]]]:
        """Lists the files, and leaves out those that only repeat themselves. Raises InvalidInput if it is damaged."""
        found: list[tuple[PurePosixPath, Callable[[], IO[bytes]]]] = []
        try:
            packed = zipfile.ZipFile(self.root)
            for info in packed.infolist():
                if info.file_size > max(MOST_ELEMENT_CHARS, MOST_RATIO * info.compress_size):
                    self.leave(info.filename, f"its {info.compress_size:,} bytes unpack to {info.file_size:,}")
                elif not info.is_dir():
                    found.append((PurePosixPath(info.filename), partial(packed.open, info)))
            if (made := max(info.date_time for info in packed.infolist()))[0] > 1980:
                self.made = datetime(*made, tzinfo=UTC)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise InvalidInput(f"{self.root} is no whole zip: {error}", hint="download the export again") from error
        return found

    def leave(self, name: str, why: str) -> None:
        self.left_out.append(SkippedItem(printable(name), why))


def _elements(raw: IO[bytes]) -> Iterator[object]:
    """Raises ValueError where it can't go on."""
    text, decoder = io.TextIOWrapper(raw, "utf-8-sig", errors="replace"), json.JSONDecoder()
    held = text.read(_STEP_CHARS).lstrip()
    is_array = held.startswith("[")
    at = int(is_array)
    while True:
        at = cast("re.Match[str]", _GAP.match(held, at)).end()
        if is_array and held.startswith("]", at):
            return
        try:
            value, end = decoder.raw_decode(held, at)
        except ValueError:
            left = len(held) - at
            more = text.read(max(_STEP_CHARS, left)) if left <= MOST_ELEMENT_CHARS else ""
            if more:
                held, at = held[at:] + more, 0
            elif is_array or left:
                raise
            else:
                return
        else:
            yield value
            at = end
