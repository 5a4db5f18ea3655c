"""Reads other programs' exports: JSON files in a zip as it was downloaded, in a folder or alone, and SQLite databases.

An export may be one array of hundreds of megabytes: it is read element by element. Nothing is unpacked, written or
changed, and of a file that is cut off or damaged what comes before the damage is read.
"""

import io
import json
import re
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, cast
from urllib.parse import quote

from mcp_memory.errors import InvalidInput, StorageFailed
from mcp_memory.runtime.os_errors import naming_the_cause, reason
from mcp_memory.text.escape_invisible import printable
from mcp_memory.transfer.item import SkippedItem

MOST_ELEMENT_CHARS = 32 << 20
"""The longest conversation, or file that is no array; real ones have a few megabytes."""

_ENDINGS = (".json", ".af")
_STEP_CHARS = 1 << 20
_GAP = re.compile(r"[\s,]*")


class ExportFiles:
    """`left_out` and `account`, whose export it is, fill while it is read. `made` is when it was, as far as its file
    says."""

    def __init__(self, root: Path) -> None:
        """Raises InvalidInput for a damaged zip, StorageFailed."""
        self.root, self.account, self.left_out = root, "", list[SkippedItem]()
        with naming_the_cause(str(root)):
            self.made = datetime.fromtimestamp(root.stat().st_mtime, UTC)
            is_zip = root.is_file() and zipfile.is_zipfile(root)
            try:
                top: Any = zipfile.Path(root) if is_zip else root
                if is_zip and (packed := max(info.date_time for info in top.root.infolist()))[0] > 1980:
                    self.made = datetime(*packed, tzinfo=UTC)
                found = [top / name for name in top.root.namelist() if name.endswith(_ENDINGS)] if is_zip else [root]
                found = [*root.glob("*"), *root.glob("*/*")] if root.is_dir() else found
            except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
                raise InvalidInput(f"{root} is no whole zip: {error}", hint="download the export again") from error
            found = [file for file in found if file.name.endswith(_ENDINGS) and (is_zip or not file.is_symlink())]
            self._files: dict[str, Path] = {f"{file.parent.name}/{file.name}": file for file in found if file.is_file()}

    def values(self, pattern: str = "") -> Iterator[object]:
        """Yields what the files hold whose path matches: the elements of an array one by one, else the whole."""
        for path, file in self._files.items():
            number = 0
            try:
                if re.search(pattern, path):
                    with file.open("rb") as raw:
                        for value in _elements(raw):
                            yield json.loads(value) if isinstance(value, str) else value
                            number += 1
            except (ValueError, RecursionError):
                self.leave(file.name, f"it is cut off, or no JSON, after {number:,} read")
            except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
                why = reason(error) if isinstance(error, OSError) else str(error) or type(error).__name__
                self.leave(file.name, f"not readable: {why}")

    def tables(self) -> frozenset[str]:
        """Returns the names of a database's tables; none for any other file. Raises StorageFailed."""
        with naming_the_cause(str(self.root)):
            if self.root.is_dir() or not self.root.open("rb").read(16).startswith(b"SQLite format 3\0"):
                return frozenset()
        return frozenset(str(row["name"]) for row in self.rows("SELECT name FROM sqlite_master"))

    def rows(self, query: str) -> Iterator[dict[str, Any]]:
        """Reads the database. With a write-ahead log a copy is read: SQLite would write beside the original. Raises
        StorageFailed."""
        log, place = self.root.with_name(f"{self.root.name}-wal"), f"file:{quote(str(self.root))}?mode=ro&immutable=1"
        with naming_the_cause(str(self.root)), TemporaryDirectory(prefix="mcp-memory-import-") as folder:
            if log.is_file() and log.stat().st_size:
                shutil.copyfile(self.root, copy := Path(folder, "copy.db"))
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
