"""The shelf: the folder in the state folder that is the source `@transcripts`. Private, never synced, never in git."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from pathlib import Path
from time import time
from typing import NamedTuple

from mcp_memory.errors import StorageFailed
from mcp_memory.runtime.private_files import replace_file

DAY_S = 86_400.0


class TranscriptStore:
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

    def write(self, pages: Mapping[str, bytes]) -> int:
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
        """Remove what is too old, and, of what is too much, the oldest of whichever session is then the largest: one
        that grew beyond all measure costs no other one its leaves. Returns how many leaves. Raises StorageFailed."""
        try:
            sessions, gone = self._sessions(), 0
            oldest, left = time() - self._keep_days * DAY_S, sum(each.size for each in sessions)
            for session in sessions:
                while session.leaves and session.leaves[-1].written < oldest:
                    left -= session.remove_oldest()
                    gone += 1
            queue = [(-each.size, number) for number, each in enumerate(sessions) if each.leaves]
            heapify(queue)
            while left > self._keep_bytes and queue:
                _, number = queue[0]
                left -= sessions[number].remove_oldest()
                gone += 1
                if sessions[number].leaves:
                    heapreplace(queue, (-sessions[number].size, number))
                else:
                    heappop(queue)
        except OSError as error:
            raise StorageFailed(f"cannot look after {self.folder}: {error.strerror}") from error
        return gone

    def _sessions(self) -> list[_Session]:
        """The oldest first. Raises OSError."""
        found: list[_Session] = []
        for folder, _, names in os.walk(self.folder):
            leaves: list[_Leaf] = []
            for name in names:
                path = os.path.join(folder, name)  # noqa: PTH118 -- by the thousand
                at = os.stat(path)  # noqa: PTH116 -- so, too
                leaves.append(_Leaf(at.st_mtime, at.st_size, path))
            if leaves:
                found.append(_Session(sorted(leaves, reverse=True), sum(leaf.size for leaf in leaves)))
        return sorted(found, key=lambda session: session.leaves[-1])


class _Leaf(NamedTuple):
    written: float
    size: int
    path: str


@dataclass(slots=True)
class _Session:
    """`leaves`: the latest first."""

    leaves: list[_Leaf]
    size: int

    def remove_oldest(self) -> int:
        """Returns how many bytes it had. Raises OSError."""
        leaf = self.leaves.pop()
        Path(leaf.path).unlink(missing_ok=True)
        self.size -= leaf.size
        if not self.leaves:
            with suppress(OSError):  # others are in there
                Path(leaf.path).parent.rmdir()
        return leaf.size
