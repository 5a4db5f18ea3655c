"""Bookmarks: how far each transcript has been captured, durably, a small file each in the state folder.

A bookmark holds what the next step needs: the place, what readers remember, and the turns of the leaves that still
grow. It is replaced in one go after everything that it stands for is on disk.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mcp_memory.capture.readers.context import ReaderContext
from mcp_memory.capture.segments import SessionSegment, SpokenTurn
from mcp_memory.errors import StorageFailed
from mcp_memory.runtime.private_files import make_private, replace_file

DIGEST_BYTES = 8


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`name` is the transcript's, see `Place.name`."""

    client: str
    name: str
    offset: int = 0
    within: bool = False
    """Whether `offset` lies in a line that is too long to be read."""
    mark: str = ""
    """Of the bytes before `offset`: a file that has others there is another one."""
    context: ReaderContext = field(default_factory=ReaderContext)
    threads: Mapping[str, SessionSegment] = field(default_factory=dict[str, SessionSegment])
    seen: int = 0
    """How many messages were captured; so many digests of them count."""
    restarts: int = 0
    """How often the file was found cut short or replaced, and read again from its beginning."""
    unreadable: int = 0
    """Lines that are no JSON, or too long."""
    captured_at: str | None = None
    """ISO 8601; None as long as nothing was."""

    def payload(self) -> dict[str, Any]:
        threads = {
            name: [segment.number, [each.payload() for each in segment.spoken]]
            for name, segment in self.threads.items()
        }
        plain = {name: getattr(self, name) for name in _PLAIN}
        return {**plain, "context": self.context.payload(), "threads": threads}

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Checkpoint:
        threads = {
            name: SessionSegment(number, tuple(SpokenTurn.from_payload(each) for each in spoken))
            for name, (number, spoken) in payload["threads"].items()
        }
        plain = {name: payload[name] for name in _PLAIN}
        return cls(**plain, context=ReaderContext.from_payload(payload["context"]), threads=threads)


_PLAIN = ("client", "name", "offset", "within", "mark", "seen", "restarts", "unreadable", "captured_at")


class Checkpoints:
    """All of them. One process at a time, which holds the vault's lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, client: str, name: str) -> Checkpoint:
        """A new one where there is none, or where it is no longer readable: leaves then come out as they were. Raises
        StorageFailed."""
        file = self._file(name)
        try:
            return _read(file) or Checkpoint(client, name)
        except FileNotFoundError:
            return Checkpoint(client, name)
        except OSError as error:
            raise _failed(error, file) from error

    def keep(self, bookmark: Checkpoint) -> None:
        """Make one durable where there is none yet, so that the transcript is not forgotten. Raises StorageFailed."""
        if not self._file(bookmark.name).exists():
            self.move(bookmark, ())

    def move(self, bookmark: Checkpoint, digests: Collection[bytes]) -> Checkpoint:
        """Make it durable, with the digests of what was captured since; returns it with these counted. Raises
        StorageFailed."""
        file = self._file(bookmark.name)
        moved = replace(bookmark, seen=bookmark.seen + len(digests))
        try:
            make_private(file.parent)
            if digests:
                with open(file.with_suffix(".seen"), "ab", opener=_private) as seen:
                    seen.truncate(bookmark.seen * DIGEST_BYTES)  # a step that was cut short may have left some
                    seen.write(b"".join(digests))
                    seen.flush()
                    os.fsync(seen.fileno())
            replace_file(file, json.dumps(moved.payload()).encode())
        except OSError as error:
            raise _failed(error, file) from error
        return moved

    def seen(self, bookmark: Checkpoint) -> frozenset[bytes]:
        """The digests of what was captured of it. Raises StorageFailed."""
        file = self._file(bookmark.name).with_suffix(".seen")
        try:
            data = file.read_bytes()[: bookmark.seen * DIGEST_BYTES]
        except FileNotFoundError:
            return frozenset()
        except OSError as error:
            raise _failed(error, file) from error
        return frozenset(data[at : at + DIGEST_BYTES] for at in range(0, len(data), DIGEST_BYTES))

    def read_all(self) -> Sequence[Checkpoint]:
        """Those that can be read."""
        found: list[Checkpoint] = []
        for file in sorted(self._folder.glob("*.json")):
            try:
                bookmark = _read(file)
            except OSError:
                continue
            found += [bookmark] if bookmark else []
        return found

    def drop(self, bookmark: Checkpoint) -> None:
        """Raises StorageFailed."""
        file = self._file(bookmark.name)
        try:
            for suffix in (".seen", ".json"):
                file.with_suffix(suffix).unlink(missing_ok=True)
        except OSError as error:
            raise _failed(error, file) from error

    def _file(self, name: str) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def _read(file: Path) -> Checkpoint | None:
    """None for what is no bookmark of this version. Raises OSError."""
    try:
        return Checkpoint.from_payload(json.loads(file.read_bytes()))
    except (ValueError, KeyError, TypeError):
        return None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _failed(error: OSError, file: Path) -> StorageFailed:
    return StorageFailed(f"cannot keep how far a transcript was read: {error.strerror}", hint=str(file))
