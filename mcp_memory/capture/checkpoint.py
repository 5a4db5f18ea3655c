"""Records durably how far each transcript has been captured, in one small file each in the state folder.

A checkpoint has the state that the next step needs: the offset, what readers remember, and the turns of pages that can
still grow. It is replaced atomically, after everything it covers is on disk.
"""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from mcp_memory.capture.off_record_turns import Stretch, TakenBack
from mcp_memory.capture.readers.message import ReaderContext
from mcp_memory.capture.transcript_store import SessionSegment, SpokenTurn
from mcp_memory.runtime.private_files import make_private, naming_the_cause, replace_file
from mcp_memory.text.text_hash import text_hash

DIGEST_BYTES = 8


@dataclass(frozen=True)
class Checkpoint:
    """`name` is `TranscriptPath.name`."""

    client: str
    name: str
    offset: int = 0
    in_long_line: bool = False
    """Whether `offset` lies within a line that is too long to read."""
    fingerprint: str = ""
    """Hash of the bytes before `offset`; a file with another one has been replaced."""
    context: ReaderContext = field(default_factory=ReaderContext)
    threads: Mapping[str, SessionSegment] = field(default_factory=dict[str, SessionSegment])
    message_count: int = 0
    """Messages captured so far, and so the number of valid digests."""
    restarts: int = 0
    """The number of times that the file was truncated or replaced, and read again from the start."""
    unreadable: int = 0
    """Lines that are not JSON, or too long."""
    captured_at: str | None = None
    """ISO 8601; None before the first capture."""

    @property
    def withdrawn(self) -> TakenBack:
        """The stretches that the person took back in a copy of the transcript."""
        return TakenBack(tuple(Stretch(begin, end) for begin, end in self.context.withdrawn))

    def payload(self) -> dict[str, Any]:
        threads = dict[str, list[Any]]()
        for name, segment in self.threads.items():
            threads[name] = [segment.number, [turn.payload() for turn in segment.turns]]
        plain = {part.name: getattr(self, part.name) for part in fields(self)}
        return {**plain, "context": asdict(self.context), "threads": threads}

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Self:
        """Parse a payload. Raises KeyError, TypeError, ValueError for anything else."""
        threads = dict[str, SessionSegment]()
        for name, (number, turns) in payload["threads"].items():
            threads[name] = SessionSegment(number, tuple(map(SpokenTurn.from_payload, turns)))
        rest: dict[str, Any] = {"context": ReaderContext(**payload["context"]), "threads": threads}
        return cls(**{**payload, **rest})


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of all transcripts, used by one process at a time, which has the vault's lock."""

    folder: Path

    def read(self, client: str, name: str) -> Checkpoint:
        """Return the checkpoint; a new one if it is missing or can't be read, since capturing again yields the same
        pages. Raises StorageFailed."""
        file = self._file(name)
        with naming_the_cause(str(file)), suppress(FileNotFoundError):
            return _read(file) or Checkpoint(client, name)
        return Checkpoint(client, name)

    def save_if_new(self, checkpoint: Checkpoint) -> None:
        """Save a first checkpoint, so that the transcript is not forgotten. Raises StorageFailed."""
        if not self._file(checkpoint.name).exists():
            self.save(checkpoint, ())

    def save(self, checkpoint: Checkpoint, digests: Collection[bytes]) -> Checkpoint:
        """Save a checkpoint durably with the digests of newly captured messages, and return it with those counted.
        Raises StorageFailed."""
        file = self._file(checkpoint.name)
        moved = replace(checkpoint, message_count=checkpoint.message_count + len(digests))
        with naming_the_cause(str(file)):
            make_private(file.parent)
            if digests:
                with open(file.with_suffix(".seen"), "ab", opener=_private) as seen:
                    seen.truncate(checkpoint.message_count * DIGEST_BYTES)  # an interrupted step may have left more
                    seen.write(b"".join(digests))
                    seen.flush()
                    os.fsync(seen.fileno())
            replace_file(file, json.dumps(moved.payload()).encode())
        return moved

    def read_digests(self, checkpoint: Checkpoint) -> frozenset[bytes]:
        """Return the digests of all captured messages. Raises StorageFailed."""
        file = self._file(checkpoint.name).with_suffix(".seen")
        with naming_the_cause(str(file)), suppress(FileNotFoundError):
            data = file.read_bytes()[: checkpoint.message_count * DIGEST_BYTES]
            return frozenset(data[at : at + DIGEST_BYTES] for at in range(0, len(data), DIGEST_BYTES))
        return frozenset()

    def read_all(self) -> Sequence[Checkpoint]:
        """Return all checkpoints that can be read."""
        found: list[Checkpoint] = []
        for file in sorted(self.folder.glob("*.json")):
            with suppress(OSError):
                checkpoint = _read(file)
                found += [checkpoint] if checkpoint else []
        return found

    def delete(self, checkpoint: Checkpoint) -> None:
        """Delete a checkpoint. Raises StorageFailed."""
        file = self._file(checkpoint.name)
        with naming_the_cause(str(file)):
            for suffix in (".seen", ".json"):
                file.with_suffix(suffix).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        return self.folder / f"{text_hash(name, 32)}.json"


def _read(file: Path) -> Checkpoint | None:
    """Read a checkpoint; None for a file that is not a checkpoint of this version. Raises OSError."""
    try:
        return Checkpoint.from_payload(json.loads(file.read_bytes()))
    except (ValueError, KeyError, TypeError):
        return None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
