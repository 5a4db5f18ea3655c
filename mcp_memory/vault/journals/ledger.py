"""The ledger: which notes this installation wrote. Local, append-only, one JSON object a line.

It decides ownership, since an `id` in a frontmatter can be forged, and it makes appends idempotent: a line is
written before its note is published, so a retry after an unanswered append finds out what became of it.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from mcp_memory.errors import StorageFailed
from mcp_memory.models import NoteId, NotePath
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import append_line, replace_file

Standing = Literal["revoked", "adopted", "written"]
"""Why a note at a place counts as the agents', or that it no longer does."""


def max_standing(known: Iterable[Standing]) -> Standing:
    """What is known of a note by what is known of its places, the strongest; of one without any, `written`."""
    there = set(known)
    if not there or "written" in there:
        return "written"
    return "adopted" if "adopted" in there else "revoked"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """`at` is in seconds since the epoch; `left` is the place that the note was moved from, if it was."""

    id: NoteId
    path: NotePath
    content: str
    kind: str
    project: str | None
    session: str | None
    at: float
    left: NotePath | None = None
    now: str | None = None
    """What `content` has become, where links in it were rewritten since."""
    standing: Standing = "written"
    """Of a note that we move or whose links we rewrite, `written` says nothing new: it stays what it was."""


@dataclass(slots=True)
class _Recording:
    """An entry on its way to the disk."""

    entry: LedgerEntry
    done: bool = False
    error: Exception | None = None


class Ledger:
    """All entries in memory, each durable on disk before `record` returns. Thread-safe."""

    def __init__(self, file: Path) -> None:
        """Raises StorageFailed for a file that cannot be read."""
        self.file = file
        self._lock = threading.Lock()
        self._waiting = deque[_Recording]()
        self._entries: list[LedgerEntry] = []
        self._paths: dict[NoteId, dict[NotePath, Standing]] = {}
        self._at: dict[NotePath, dict[NoteId, str]] = {}
        self._by_content: dict[tuple[str, str, str | None], list[LedgerEntry]] = {}
        self._first: dict[tuple[NoteId, str], str] = {}
        self.damaged_lines = 0
        self._load()

    def __len__(self) -> int:
        return len(self._paths)

    def places_of(self, note_id: NoteId) -> list[NotePath]:
        """Where the note was written, adopted or filed, the latest place last, without those that it left by our hand;
        it may have been moved since."""
        return [path for path, standing in self.standings(note_id).items() if standing != "revoked"]

    def standings(self, note_id: NoteId) -> dict[NotePath, Standing]:
        """The same, with what is said of each place; also of those where an adoption was revoked."""
        return dict(self._paths.get(note_id, {}))

    def adopted(self) -> list[tuple[NotePath, NoteId]]:
        """All places of notes that count as ours by adoption alone."""
        ids = list(self._paths)
        return [(path, each) for each in ids for path, how in self.standings(each).items() if how == "adopted"]

    def written(self, content: str, kind: str, project: str | None) -> list[LedgerEntry]:
        """Every time this content was about to be written, oldest first."""
        return list(self._by_content.get((content, kind, project), ()))

    def first(self, note_id: NoteId, content: str) -> str:
        """What a note said when it was written, by what it says now: that, unless we rewrote links in it."""
        return self._first.get((note_id, content), content)

    def record(self, *entries: LedgerEntry) -> None:
        """Raises StorageFailed; then nothing was recorded in memory either.

        Whoever has the lock takes along who waits for it: on a slow disk many notes cost two syncs and not one each.
        """
        mine = [_Recording(entry) for entry in entries]
        self._waiting.extend(mine)
        with self._lock:
            if not all(each.done for each in mine):
                batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
                self._record(batch)
        if error := next((each.error for each in mine if each.error), None):
            raise error

    def _record(self, batch: Sequence[_Recording]) -> None:
        try:
            with naming_the_cause(str(self.file)):
                if not self.file.exists():
                    self._write(self._entries)
                append_line(self.file, b"\n".join(_line(each.entry) for each in batch))
        except Exception as error:  # each of those who wait raises it
            for each in batch:
                each.error = error
        else:
            for each in batch:
                self._remember(each.entry)
        finally:
            for each in batch:
                each.done = True

    def put_back(self) -> None:
        """Write the file again where somebody removed it: nothing else could tell what it says. Raises
        StorageFailed."""
        with self._lock, naming_the_cause(str(self.file)):
            if self._paths and not self.file.exists():
                self._write(self._entries)

    def ids_at(self, path: NotePath) -> frozenset[NoteId]:
        """Which notes were written, adopted or filed there."""
        return frozenset(self._at.get(path, ()))

    def kinds_at(self, path: NotePath) -> frozenset[str]:
        """Of what kinds they were, without those whose adoption was revoked."""
        there = self._at.get(path, {})
        return frozenset(kind for each, kind in there.items() if self._paths[each].get(path) != "revoked")

    def count_lines(self, ids: Collection[NoteId]) -> int:
        """How many lines there are about these notes."""
        return sum(entry.id in ids for entry in self._entries)

    def erase(self, ids: Collection[NoteId]) -> None:
        """Take those lines out: a path holds words of its note. Raises StorageFailed."""
        with self._lock, naming_the_cause(str(self.file)):
            kept = [entry for entry in self._entries if entry.id not in ids]
            if len(kept) != len(self._entries):
                self._write(kept)
                self._entries.clear()
                self._paths.clear()
                self._at.clear()
                self._by_content.clear()
                self._first.clear()
                for entry in kept:
                    self._remember(entry)

    def _write(self, entries: Iterable[LedgerEntry]) -> None:
        replace_file(self.file, b"".join(_line(entry) + b"\n" for entry in entries))

    def _load(self) -> None:
        try:
            with self.file.open(encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    try:
                        self._remember(LedgerEntry(**json.loads(line)))
                    except (ValueError, TypeError):
                        self.damaged_lines += 1
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageFailed(
                f"cannot read the ledger {self.file}: {error.strerror}",
                hint="let the user that runs mcp-memory read and write it; it tells which notes are the agents'",
            ) from error

    def _remember(self, entry: LedgerEntry) -> None:
        self._entries.append(entry)
        places = self._paths.setdefault(entry.id, {})
        before: list[Standing] = [places.pop(path) for path in (entry.left, entry.path) if path and path in places]
        if entry.standing != "written":
            places[entry.path] = entry.standing
        else:  # one that a person moved by hand before we did is what it was elsewhere
            places[entry.path] = before[0] if before else max_standing(places.values())
        if entry.standing == "revoked":
            return
        self._at.setdefault(entry.path, {})[entry.id] = entry.kind
        if entry.now:
            self._first[entry.id, entry.now] = entry.content
        self._by_content.setdefault((entry.content, entry.kind, entry.project), []).append(entry)


def _line(entry: LedgerEntry) -> bytes:
    return json.dumps(asdict(entry), ensure_ascii=False, separators=(",", ":")).encode()
