"""Record each change of a note, with its time, author and session, and keep the bytes that an edit replaced.

The journal has ids and paths, never the text of a note. The files are the truth. The journal only explains them, for as
long as there is room, and may lack the changes of the moment before a power cut.
"""

import threading
from collections import deque
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Literal, cast, get_args

from mcp_memory.models import Etag, NoteId, NotePath, Status, etag_of
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.runtime.private_files import append_line, naming_the_cause, replace_file
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.logs import PLACE
from mcp_memory.text.text_hash import text_hash
from mcp_memory.vault.journals.tombstones import UNKNOWN, Caller
from mcp_memory.vault.note_file import MEMORY, NoteFile, entries_of, is_memory

MOST_BYTES = 2_000_000
"""The most bytes of each of the two files: some 7,000 changes."""

IMPORT = "import"
"""The beginning of the run of imported notes."""

DECISION = "decision"
"""The beginning of the run of changes by one decision about a contradiction."""

DREAM = "dream"
"""The client of the boxes that you ticked in `DREAMS.md`."""

DISK = "disk"
"""The client of a change that a sweep found: you in an editor, a sync client, git."""


ChangeKind = Literal[
    "stored", "imported", "edited", "superseded", "archived", "forgotten", "restored", "muted", "moved", "removed"
]
"""The kinds of changes, in the words of the list. `restored`: the note counts again. `muted`: or no longer so.
`removed`: its file has gone."""


@dataclass(frozen=True)
class NoteChange:
    """A change of a note. `other`: the note that superseded it, the place that it was moved from, the status from which
    it was restored, or the hash that an edited log entry had. `run`: the compaction or import that it was part of.
    `undoes`: the id of the change, or the run, that it undid."""

    at: float  # seconds since the epoch
    kind: ChangeKind
    path: NotePath
    note: NoteId
    entry: str | None = None  # a log entry's hash
    before: Etag | None = None
    after: Etag | None = None
    client: str | None = None
    session: str | None = None
    project: str | None = None
    other: str | None = None
    run: str | None = None
    undoes: str | None = None
    count: int | None = None  # the number of changes on disk that one line summarizes

    @property
    def id(self) -> str:
        """The change's id of 8 hexadecimal digits."""
        facts = f"{self.at} {self.kind} {self.path} {self.entry} {self.before} {self.after} {self.undoes}"
        return text_hash(facts, 8)

    @property
    def target(self) -> str:
        """The id of the note or log entry, as recall and forget take it."""
        return f"{self.path}#{self.entry}" if self.entry else self.note


_BY_STATUS = {
    Status.DELETED.value: "forgotten",
    Status.SUPERSEDED.value: "superseded",
    Status.ARCHIVED.value: "archived",
}

_CALLER: ContextVar[Caller] = ContextVar("caller", default=UNKNOWN)


@contextmanager
def acting(by: Caller) -> Generator[None]:
    """Record changes within the block as this caller's; missing facts come from the block around."""
    known = {name: value for name, value in asdict(by).items() if value}
    token = _CALLER.set(replace(_CALLER.get(), **known))
    try:
        yield
    finally:
        _CALLER.reset(token)


def current_caller() -> Caller:
    """Return the caller whose changes are being made."""
    return _CALLER.get()


def describe_difference(before: NoteFile, after: NoteFile) -> dict[str, Any]:
    """Describe the difference between two versions of a note: the `kind` of the change, its `entry` and `other`."""
    for file, other, kind in ((after, before, "forgotten"), (before, after, "restored")):
        entries = {*file.forgotten_entries} - {*other.forgotten_entries}
        if len(entries) == 1:
            return {"kind": kind, "entry": entries.pop()}
    if is_memory(after.record.path) and (facts := changed_entry(before.text, after.text)):
        return facts
    if after.record.is_log:
        gone, new = _difference(after.record.path, before.text, after.text)
        if len(gone) == len(new) == 1:
            return {"kind": "edited", "entry": new.pop(), "other": gone.pop()}
    was, now = (frontmatter.parse(file.text).meta for file in (before, after))
    status, successors = now.get("status"), now.get("superseded_by")
    if status == Status.SUPERSEDED and was.get("superseded_by") != successors:
        latest = cast("list[object]", successors)[-1] if successors and isinstance(successors, list) else successors
        return {"kind": "superseded", "other": str(latest)}
    old, new = (cast("list[object]", meta.get("superseded") or []) for meta in (was, now))
    if marked := [str(mark) for mark in new if mark not in old]:  # an entry of a log, with its replacement and the time
        entry, _, by = PLACE.sub("", marked[0]).partition(" ")
        return {"kind": "superseded", "entry": entry, "other": by.rpartition(" ")[0]}
    if was.get("status") == status:
        return {"kind": "edited" if was.get("muted") == now.get("muted") else "muted"}
    return {
        "kind": _BY_STATUS.get(str(status), "restored"),
        "other": str(was["status"]) if was.get("status") else None,
    }


def changed_entry(before: str, after: str) -> dict[str, Any]:
    """Return the one entry of `MEMORY.md` that was added, taken out or replaced; empty for several entries, or none."""
    gone, new = _difference(MEMORY, before, after)
    if max(len(gone), len(new)) != 1:
        return {}
    kind = "edited" if gone and new else "forgotten" if gone else "stored"
    return {"kind": kind, "entry": (gone or new).pop()}


def _difference(path: NotePath, before: str, after: str) -> tuple[set[str], set[str]]:
    """Return the hashes of the entries that only one of the two texts has."""
    was = {entry.hash for entry in entries_of(path, before)}
    now = {entry.hash for entry in entries_of(path, after)}
    return was - now, now - was


class ChangeJournal:
    """Thread-safe."""

    def __init__(self, state: Path, *, keep_days: int = 30, keep_bytes: int = 64_000_000) -> None:
        """Open the journal in the state folder `state`. Earlier bytes are kept for `keep_days` days with edits, up to
        `keep_bytes`."""
        self._lines = JsonLines(state / "changes.jsonl", synced=False, most_bytes=MOST_BYTES)
        self._versions = state / "versions"
        self._keep_days = keep_days
        self._keep_bytes = keep_bytes
        self._lock = threading.Lock()
        self._latest: dict[NotePath, tuple[Etag | None, float]] | None = None
        self._recent: deque[NoteChange] = deque(maxlen=1000)
        self.count = 0
        """Of this process's changes."""

    def record(self, change: NoteChange) -> None:
        """Add a change that was made. Never fails: the note itself is written."""
        with self._lock:
            self._recent.append(change)
            self.count += 1
            if self._latest is not None:
                self._latest[change.path] = change.after, monotonic()
        self._lines.try_append(asdict(change))

    def since(self, count: int) -> list[NoteChange]:
        """Return the latest of this process's changes, those after the first `count`, the oldest first."""
        with self._lock:
            return list(self._recent)[max(0, len(self._recent) - self.count + count) :]

    def changes(self) -> list[NoteChange]:
        """Return all known changes, the latest first. Raises StorageFailed."""
        return list(self.read_back())

    def read_back(self, naming: Collection[str] = ()) -> Iterator[NoteChange]:
        """Yield the known changes, or only those with one of these names, the latest first, reading no more than that
        takes. Raises StorageFailed."""
        return filter(None, map(_change, self._lines.read_back(naming)))

    def first(self) -> NoteChange | None:
        """Return the earliest known change. Raises StorageFailed."""
        facts = self._lines.read_first()
        return _change(facts) if facts else None

    def is_ours(self, path: NotePath, etag: Etag | None, since: float) -> bool:
        """Return whether we wrote there since then (monotonic seconds), or wrote these bytes last. Raises
        StorageFailed."""
        with self._lock:
            if self._latest is None:
                self._latest = {change.path: (change.after, 0.0) for change in reversed(self.changes())}
            known, at = self._latest.get(path, (None, 0.0))
            return at >= since or (etag is not None and known == etag)

    def keep(self, note: NoteId, etag: Etag, data: bytes, *, is_edit: bool) -> None:
        """Keep the bytes that are about to be replaced; an edit's bytes are kept durably, since they are nowhere else
        then. Raises StorageFailed."""
        file = self._versions / f"{text_hash(note, 16)}.{etag}"
        with self._lock, naming_the_cause(str(self._versions)):
            if is_edit:
                replace_file(file, data)
            elif not file.exists():
                append_line(file, data, synced=False)
            found = sorted((file.stat().st_mtime, file.stat().st_size, file) for file in self._versions.iterdir())
            # These are days with edits, so a wrong clock makes nothing old.
            days = sorted({_day(at) for at, _, _ in found})[-self._keep_days :]
            total = 0
            for at, size, file in reversed(found):
                total += size
                if _day(at) not in days or total > max(self._keep_bytes, len(data)):
                    file.unlink()

    def find(self, note: NoteId, etag: Etag) -> bytes | None:
        """Return the note's bytes with this etag; None if they are no longer kept, or incomplete."""
        with suppress(OSError):
            data = (self._versions / f"{text_hash(note, 16)}.{etag}").read_bytes()
            for known in (data, data[:-1]):  # a line that was appended has one more
                if etag_of(known) == etag:
                    return known
        return None

    def count_lines(self, path: NotePath, entry: str | None, ids: Collection[NoteId]) -> int:
        """Count the changes of a note or a log entry, without changes of another note that was at its path. Raises
        StorageFailed."""
        own = {*ids, f"path:{path}"}
        return sum(change.note in own and entry in {None, change.entry} for change in self.changes())

    def erase(self, path: NotePath, entry: str | None, ids: Collection[NoteId]) -> None:
        """Remove those lines, and the bytes that are kept of the file. Raises StorageFailed."""
        known = {*ids, *(change.note for change in self.changes() if path in {change.path, change.other})}
        for note in known:
            self.drop_versions(note)
        self._lines.remove(lambda facts: facts.get("note") in known and entry in {None, facts.get("entry")})

    def drop_versions(self, note: NoteId) -> None:
        """Remove the earlier bytes of a note for good. Raises StorageFailed."""
        with naming_the_cause(str(self._versions)):
            for file in list(self._versions.glob(f"{text_hash(note, 16)}.*")):
                file.unlink()


def _change(facts: Mapping[str, Any]) -> NoteChange | None:
    """Parse a line; None for a line of a later version."""
    with suppress(TypeError):
        change = NoteChange(**facts)
        if change.kind in get_args(ChangeKind):
            return change
    return None


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()
