"""Keep facts in a private, append-only file with a JSON object on each line.

A line that a crash cut short is skipped when the file is read, and a line break separates it from the next one.
"""

import json
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO

from mcp_memory.errors import StorageFailed
from mcp_memory.runtime.private_files import append_line, naming_the_cause, replace_file

Facts = dict[str, Any]

BLOCK = 65_536

log = logging.getLogger(__name__)


class JsonLines:
    """A thread-safe file of JSON lines. Values that are None are omitted, and values of other types than JSON's are
    written as text."""

    def __init__(self, file: Path, *, synced: bool = True, most_bytes: int | None = None) -> None:
        """Open the file. `synced`: a line is on disk when `append` returns; otherwise a power cut may take the latest
        lines. `most_bytes`: a larger file becomes the older one of two. None: it grows."""
        self.file = file
        self.damaged = 0
        """How many lines were skipped when the file was last read."""
        self._older = file.with_suffix(f".1{file.suffix}")
        self._synced = synced
        self._most_bytes = most_bytes
        self._lock = threading.Lock()

    def append(self, *lines: Facts, synced: bool | None = None) -> None:
        """Append all of these lines or none. `synced`: as in `__init__`, for these lines. Raises StorageFailed."""
        with self._lock, naming_the_cause(str(self.file)):
            self._rotate()
            is_synced = self._synced if synced is None else synced
            append_line(self.file, b"\n".join(map(_encoded, lines)), synced=is_synced)

    def try_append(self, *lines: Facts) -> None:
        """Append these lines, or log why they are missing."""
        try:
            self.append(*lines)
        except StorageFailed as error:
            log.warning("a line is missing: %s", error.message)

    def read(self) -> list[Facts]:
        """Return the whole lines, the oldest first; none without a file. Raises StorageFailed."""
        with self._lock, naming_the_cause(str(self.file)):
            return self._read()

    def read_back(self, naming: Collection[str] = ()) -> Iterator[Facts]:
        """Yield the whole lines, or only those with one of these words, the latest first, and read no more of the file
        than that takes. Raises StorageFailed."""
        files = (self.file,) if self._most_bytes is None else (self.file, self._older)
        words = [json.dumps(word)[1:-1].encode("ascii") for word in naming]
        with ExitStack() as closing, naming_the_cause(str(self.file)):
            with self._lock:  # a file that becomes the older one meanwhile isn't read twice
                opened = [closing.enter_context(file.open("rb")) for file in files if file.exists()]
            for lines in opened:
                named = (line for line in _lines_back(lines) if not words or any(word in line for word in words))
                yield from filter(None, map(_decoded, named))

    def read_first(self) -> Facts | None:
        """Return the oldest whole line. Raises StorageFailed."""
        files = (self.file,) if self._most_bytes is None else (self._older, self.file)
        with self._lock, naming_the_cause(str(self.file)):
            return next((line for file in files for line in _lines_of(file) if line is not None), None)

    def remove(self, unwanted: Callable[[Facts], bool]) -> int:
        """Remove lines for good, and return how many there were. Raises StorageFailed."""
        removed = 0
        with self._lock, naming_the_cause(str(self.file)):
            for file in (self._older, self.file):
                lines = [line for line in _lines_of(file) if line is not None]
                kept = [line for line in lines if not unwanted(line)]
                if len(kept) != len(lines):
                    _write(file, kept)
                    removed += len(lines) - len(kept)
        return removed

    def replace(self, lines: Iterable[Facts]) -> None:
        """Rewrite the file with these lines, durably. Raises StorageFailed."""
        with self._lock, naming_the_cause(str(self.file)):
            _write(self.file, lines)

    def _rotate(self) -> None:
        if self._most_bytes is not None and self.file.exists() and self.file.stat().st_size > self._most_bytes:
            self.file.replace(self._older)

    def _read(self) -> list[Facts]:
        files = (self.file,) if self._most_bytes is None else (self._older, self.file)
        lines = [line for file in files for line in _lines_of(file)]
        whole = [line for line in lines if line is not None]
        self.damaged = len(lines) - len(whole)
        return whole


class PlaceList:
    """Files or folders outside the vault that have copies of notes, durable and in the order in which they were added.
    Thread-safe."""

    def __init__(self, file: Path, what: str) -> None:
        """Open the list; `what` names the places in the lines."""
        self._lines = JsonLines(file)
        self._what = what

    def add(self, place: Path) -> None:
        """Remember a place; call it before the copy is made. Raises StorageFailed."""
        if place not in self.read():
            self._lines.append({self._what: str(place)})

    def read(self) -> list[Path]:
        """Return all places. Raises StorageFailed."""
        return [Path(str(line[self._what])) for line in self._lines.read() if self._what in line]


def _lines_of(file: Path) -> Iterator[Facts | None]:
    """Yield each line, or None for a line that isn't a JSON object. Raises OSError."""
    try:
        with file.open("rb") as lines:
            yield from map(_decoded, lines)
    except FileNotFoundError:
        return


def _lines_back(lines: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file from its end, read in blocks. Raises OSError."""
    at, rest = lines.seek(0, SEEK_END), b""
    while at > 0:
        start = max(0, at - BLOCK)
        lines.seek(start)
        rest, *whole = (lines.read(at - start) + rest).split(b"\n")  # the first one may have begun before the block
        at = start
        yield from reversed(whole)
    yield rest


def _decoded(line: bytes) -> Facts | None:
    """Return a line; None if it isn't a JSON object."""
    try:
        return {**json.loads(line)}
    except (ValueError, TypeError, RecursionError):
        return None


def _write(file: Path, lines: Iterable[Facts]) -> None:
    """Write the lines. Raises OSError."""
    replace_file(file, b"".join(_encoded(line) + b"\n" for line in lines))


def _encoded(line: Facts) -> bytes:
    known = {name: value for name, value in line.items() if value is not None}
    return json.dumps(known, separators=(",", ":"), default=str).encode("ascii")
