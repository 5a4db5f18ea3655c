"""The shelf: the folder in the state folder that is the source `@transcripts`. Private, never synced, never in git."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import time

from mcp_memory.engine.durable import replace_file
from mcp_memory.errors import StorageFailed

DAY_S = 86_400.0


class LeafShelf:
    """Written by captures alone; who reads it goes by way of the vault's sources."""

    def __init__(self, folder: Path, *, keep_days: int, keep_bytes: int) -> None:
        self.folder = folder
        self._keep_days = keep_days
        self._keep_bytes = keep_bytes

    def make(self) -> None:
        """Somebody may have removed the state folder: once that is back, so is this. Raises StorageFailed."""
        try:
            with suppress(FileNotFoundError):
                self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageFailed(f"cannot make {self.folder}: {error.strerror}") from error

    def has(self, path: str) -> bool:
        return (self.folder / path).exists()

    def put(self, pages: Mapping[str, bytes]) -> int:
        """Each whole or not at all; the same bytes again change nothing. Returns how many were new or other ones.
        Raises StorageFailed."""
        written = 0
        for path, data in pages.items():
            file = self.folder / path
            try:
                with suppress(FileNotFoundError):
                    if file.read_bytes() == data:
                        continue
                replace_file(file, data)
            except OSError as error:
                raise StorageFailed(f"cannot write {file}: {error.strerror}", hint="see mcp-memory status") from error
            written += 1
        return written

    def prune(self) -> int:
        """Remove what is too old, and the oldest of what is too much; returns how many leaves. Raises StorageFailed."""
        found: list[tuple[float, int, str]] = []
        try:
            for folder, _, names in os.walk(self.folder):
                for name in names:
                    path = os.path.join(folder, name)  # noqa: PTH118 -- by the thousand
                    at = os.stat(path)  # noqa: PTH116 -- so, too
                    found.append((at.st_mtime, at.st_size, path))
            left, oldest, gone = sum(size for _, size, _ in found), time() - self._keep_days * DAY_S, 0
            for written, size, path in sorted(found):
                if written < oldest or left > self._keep_bytes:
                    Path(path).unlink(missing_ok=True)
                    left, gone = left - size, gone + 1
                    with suppress(OSError):  # others are in there
                        Path(path).parent.rmdir()
        except OSError as error:
            raise StorageFailed(f"cannot look after {self.folder}: {error.strerror}") from error
        return gone
