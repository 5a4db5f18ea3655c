"""Keep facts in a private file, one JSON object a line; a full file becomes the older one of two."""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import append_line, replace_file

Facts = dict[str, Any]

log = logging.getLogger(__name__)


class RotatedLines:
    """A log in two files. Lines are not synced: after a power cut the latest may be missing. Thread-safe."""

    def __init__(self, file: Path, most_bytes: int) -> None:
        self._files = file.with_suffix(f".1{file.suffix}"), file
        self._most_bytes = most_bytes
        self._lock = threading.Lock()

    def append(self, facts: Facts) -> None:
        """Append the facts that aren't None. If the disk refuses, only the log reports it."""
        known = {name: value for name, value in facts.items() if value is not None}
        line = json.dumps(known, separators=(",", ":"), default=str)
        older, file = self._files
        with self._lock:
            try:
                if file.exists() and file.stat().st_size > self._most_bytes:
                    file.replace(older)
                append_line(file, line.encode("ascii"), synced=False)
            except OSError as error:
                log.warning("a line is missing in %s: %s", file.name, error.strerror)

    def read(self) -> list[Facts]:
        """Return the whole lines, oldest first. Raises StorageFailed."""
        with self._lock, naming_the_cause(str(self._files[1])):
            return [facts for file in self._files for _, facts in _lines_of(file)]

    def remove(self, unwanted: Callable[[Facts], bool]) -> None:
        """Remove these lines for good. Raises StorageFailed."""
        with self._lock, naming_the_cause(str(self._files[1])):
            for file in self._files:
                lines = list(_lines_of(file))
                kept = [line for line, facts in lines if not unwanted(facts)]
                if len(kept) != len(lines):
                    replace_file(file, b"".join(kept))


def _lines_of(file: Path) -> Iterator[tuple[bytes, Facts]]:
    """Raises OSError."""
    with suppress(FileNotFoundError), file.open("rb") as lines:
        for line in lines:
            with suppress(ValueError, TypeError):
                yield line.rstrip() + b"\n", {**json.loads(line)}
