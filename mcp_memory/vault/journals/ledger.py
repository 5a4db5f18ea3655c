"""Record which notes this installation wrote: local, append-only, one JSON object a line.

The ledger decides ownership, since an `id` in a frontmatter can be forged. It also makes appends idempotent: a line
is written before its note is published, so the retry of an unanswered append finds the note.
"""

import threading
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self

from mcp_memory.models import NoteId, NotePath, NoteRecord
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.runtime.private_files import naming_the_cause
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.config import VaultConfig
from mcp_memory.vault.journals.append_journal import AppendJournal
from mcp_memory.vault.journals.change_journal import ChangeJournal
from mcp_memory.vault.journals.tombstones import Tombstones

Standing = Literal["revoked", "adopted", "written"]
"""The reason why a note at a place is the agents', or `revoked` if it no longer is."""


KEPT_PARTS = 8
"""The versions of a page that are kept; an undo or a sync client may bring any of them back."""


def entry_id(path: NotePath, entry: str) -> NoteId:
    """Return the id of an entry of a shared file."""
    return NoteId(f"{path}#{entry}")


def max_standing(known: Iterable[Standing]) -> Standing:
    """Return the strongest standing of a note's places; `written` without any."""
    standings = set(known)
    if not standings or "written" in standings:
        return "written"
    return "adopted" if "adopted" in standings else "revoked"


@dataclass(frozen=True)
class LedgerEntry:
    """A line of the ledger."""

    id: NoteId
    path: NotePath
    content: str  # its hash
    kind: str
    project: str | None
    session: str | None
    at: float  # seconds since the epoch
    left: NotePath | None = None  # the place that the note was moved from
    now: str | None = None  # the hash after links in the content were rewritten
    standing: Standing = "written"  # after a move or rewritten links, `written` leaves the standing as it was
    parts: Mapping[str, Sequence[str]] | None = None  # the parts of a topic's page, as we made them

    @classmethod
    def of(cls, note: NoteRecord, at: datetime) -> Self:
        """Make the entry for a note that is about to be written."""
        return cls(note.id, note.path, note.content_hash, note.kind, note.project, None, at.timestamp())


@dataclass
class _Recording:
    """An entry on its way to the disk."""

    entry: LedgerEntry
    done: bool = False
    error: Exception | None = None


class Ledger:
    """The ledger, with all entries in memory. Each entry is durable on disk before `record` returns. Thread-safe."""

    def __init__(self, file: Path) -> None:
        """Open the ledger. Raises StorageFailed for a file that cannot be read."""
        self.file = file
        self._lines = JsonLines(file)
        self._lock = threading.Lock()
        self.waiting = deque[_Recording]()
        self._entries: list[LedgerEntry] = []
        self._paths: dict[NoteId, dict[NotePath, Standing]] = {}
        self._at: dict[NotePath, dict[NoteId, str]] = {}
        self._by_content: dict[tuple[str, str | None], list[LedgerEntry]] = {}
        self._first: dict[tuple[NoteId, str], str] = {}
        self._parts: dict[NoteId, deque[Mapping[str, Sequence[str]]]] = {}
        self.damaged_lines = 0
        self._load()

    def __len__(self) -> int:
        return len(self._paths)

    def places_of(self, note_id: NoteId) -> list[NotePath]:
        """Return where the note was written, adopted or filed, the latest place last, without places that we moved it
        from. It may have been moved since."""
        return [path for path, standing in self.standings(note_id).items() if standing != "revoked"]

    def standings(self, note_id: NoteId) -> dict[NotePath, Standing]:
        """Return these places with the standing of each, and the places where an adoption was revoked."""
        return dict(self._paths.get(note_id, {}))

    def adopted(self) -> list[tuple[NotePath, NoteId]]:
        """Return all places of notes that are ours only by adoption."""
        ids = list(self._paths)
        return [(path, note) for note in ids for path, how in self.standings(note).items() if how == "adopted"]

    def written(self, content: str, kind: str | None, project: str | None) -> list[LedgerEntry]:
        """Return the times at which this content was about to be written, oldest first; without a kind, as any kind."""
        return [entry for entry in self._by_content.get((content, project), ()) if kind in (None, entry.kind)]

    def first(self, note_id: NoteId, content: str) -> str:
        """Return the hash of a note's content when it was written, given its present hash; they differ if we rewrote
        links."""
        return self._first.get((note_id, content), content)

    def parts(self, page: NoteId) -> list[Mapping[str, Sequence[str]]]:
        """Return the parts of a topic's page in the versions that we made, the latest last."""
        return list(self._parts.get(page, ()))

    def record(self, *entries: LedgerEntry) -> None:
        """Record entries durably.

        Raises StorageFailed; then nothing was recorded in memory either. The thread with the lock also writes the
        entries of the waiting threads: on a slow disk many notes cost two syncs."""
        mine = [_Recording(entry) for entry in entries]
        self.waiting.extend(mine)
        with self._lock:
            if not all(recording.done for recording in mine):
                self._record([self.waiting.popleft() for _ in range(len(self.waiting))])
        if error := next((recording.error for recording in mine if recording.error), None):
            raise error

    def _record(self, batch: Sequence[_Recording]) -> None:
        try:
            with naming_the_cause(str(self.file)):
                is_removed = not self.file.exists()
            if is_removed:
                self._write(self._entries)
            self._lines.append(*(asdict(recording.entry) for recording in batch))
        except Exception as error:  # raised in each waiting thread
            for recording in batch:
                recording.error = error
        else:
            for recording in batch:
                self._remember(recording.entry)
        finally:
            for recording in batch:
                recording.done = True

    def put_back(self) -> None:
        """Write the file again if it was removed, because its content is nowhere else. Raises StorageFailed."""
        with self._lock:
            if self._paths and not self.file.exists():
                self._write(self._entries)

    def ids_at(self, path: NotePath) -> frozenset[NoteId]:
        """Return the ids of the notes that were written, adopted or filed there."""
        return frozenset(self._at.get(path, ()))

    def kinds_at(self, path: NotePath) -> frozenset[str]:
        """Return the kinds of these notes, without notes whose adoption was revoked."""
        notes = self._at.get(path, {})
        return frozenset(kind for note, kind in notes.items() if self._paths[note].get(path) != "revoked")

    def paths_of(self, ids: Collection[NoteId]) -> set[NotePath]:
        """Return every place where these notes have been."""
        entries = [entry for entry in self._entries if entry.id in ids]
        return {path for entry in entries for path in (entry.path, entry.left) if path}

    def count_lines(self, ids: Collection[NoteId]) -> int:
        """Count the lines about these notes."""
        return sum(entry.id in ids for entry in self._entries)

    def erase(self, ids: Collection[NoteId]) -> None:
        """Remove the lines about these notes, since a path has words of its note. Raises StorageFailed."""
        with self._lock:
            kept = [entry for entry in self._entries if entry.id not in ids]
            if len(kept) != len(self._entries):
                self._write(kept)
                for known in (self._entries, self._paths, self._at, self._by_content, self._first, self._parts):
                    known.clear()
                for entry in kept:
                    self._remember(entry)

    def _write(self, entries: Iterable[LedgerEntry]) -> None:
        self._lines.replace(map(asdict, entries))

    def _load(self) -> None:
        for line in self._lines.read():
            values: dict[str, Any] = {"project": None, "session": None, **line}
            try:
                self._remember(LedgerEntry(**values))
            except TypeError:
                self.damaged_lines += 1
        self.damaged_lines += self._lines.damaged

    def _remember(self, entry: LedgerEntry) -> None:
        self._entries.append(entry)
        places = self._paths.setdefault(entry.id, {})
        before: list[Standing] = [places.pop(path) for path in (entry.left, entry.path) if path and path in places]
        if entry.standing != "written":
            places[entry.path] = entry.standing
        else:  # a note that was moved by hand before keeps its standing
            places[entry.path] = before[0] if before else max_standing(places.values())
        if entry.standing == "revoked":
            return
        self._at.setdefault(entry.path, {})[entry.id] = entry.kind
        if entry.now:
            self._first[entry.id, entry.now] = entry.content
        if entry.parts is not None:
            self._parts.setdefault(entry.id, deque(maxlen=KEPT_PARTS)).append(entry.parts)
        self._by_content.setdefault((entry.content, entry.project), []).append(entry)


class NoteJournals:
    """Thread-safe."""

    def __init__(self, state: Path, config: VaultConfig | None = None) -> None:
        """Open the journals in the state folder `state`. Raises StorageFailed for a journal that cannot be read."""
        kept = config or VaultConfig()
        self.ledger = Ledger(state / "ledger.jsonl")
        self.tombstones = Tombstones(state / "undo")
        self.appends = AppendJournal(state / "recovery")
        self.changes = ChangeJournal(state, keep_days=kept.undo_days)

    def describe(self, path: NotePath, entry: str | None, ids: Collection[NoteId]) -> list[str]:
        """Describe the traces of a whole note (`entry` is None), also after its file has gone, or of a log entry: a
        line for each place. `ids` are the ids of the whole note, past and present. Raises StorageFailed."""
        found: list[str] = []
        if entries := [added for added in self.appends.entries_of(path) if entry in {None, added.entry}]:
            found.append(f"in the append journal: {counted(len(entries), 'entry', 'entries')}")
        if any(entry in {None, forgotten} for forgotten in self.tombstones.entries(path)):
            found.append("its mark as forgotten")
        if etags := self.tombstones.etags_of(ids):
            found.append(f"the bytes kept for a restore: {counted(len(etags), 'file')}")
        if lines := self.changes.count_lines(path, entry, ids):
            found.append(f"in the journal of changes, and the bytes kept for an undo: {counted(lines, 'line')}")
        if lines := self.ledger.count_lines({entry_id(path, entry)} if entry else ids):
            found.append(f"in the ledger: {counted(lines, 'line')}")
        return found

    def erase(self, path: NotePath, entry: str | None, ids: Collection[NoteId]) -> None:
        """Erase these traces, in the ledger last, which has the ids of a note whose file has gone. Raises
        StorageFailed."""
        self.appends.erase(path, entry)
        for forgotten in self.tombstones.entries(path):
            if entry in {None, forgotten}:
                self.tombstones.release_entry(path, forgotten)
        self.tombstones.release(*self.tombstones.etags_of(ids))
        self.changes.erase(path, entry, ids)
        self.ledger.erase({entry_id(path, entry)} if entry else ids)
