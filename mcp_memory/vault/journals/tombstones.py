"""Keep the bytes for a restore, and remember what is forgotten even if another program brings it back.

A forgotten note is marked in its own file. A sync client or a stale save may put the unmarked bytes back. The
tombstones recognize a note by its etag and an entry of a log by its hash, and so keep them out of every answer.
"""

import hashlib
import json
import threading
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from mcp_memory.errors import StorageFailed
from mcp_memory.models import Etag, NoteId, NotePath, NoteRecord, NoteState, Problem
from mcp_memory.runtime.private_files import naming_the_cause, replace_file, sync_folder
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.text_hash import text_hash

GRACE_DAYS = 30
"""The days for which bytes are kept after the forgotten note's file has gone, since a sync client or a backup may bring
it back. While the file exists they are kept forever. Only days with a check count, so a wrong clock makes nothing old.
"""

ENTRY = ".entry"  # suffix of a forgotten entry's file
SHOWN = ".shown"  # suffix of the bytes of a note that is about to be restored
CHECKS = "checks.json"  # the days on which we checked, and on which of them a file was first no longer needed


@dataclass(frozen=True)
class Caller:
    """The maker of a call, as far as known. `run`: the compaction or import that the call is part of. `undoes`: the id
    of the change, or the run, that the call undoes."""

    client: str | None = None
    session: str | None = None
    is_person: bool = False  # at the command line, with more rights than an agent
    run: str | None = None
    undoes: str | None = None


UNKNOWN = Caller()


@dataclass(frozen=True)
class Tombstone:
    """The time, reason and client of forgetting a note or entry."""

    path: NotePath
    entry: str | None  # its hash
    at: datetime | None = None
    client: str | None = None
    session: str | None = None
    reason: str | None = None
    title: str = ""
    kept: Mapping[str, Any] | None = None  # an entry that was taken out of its file: its bytes, and where they were

    @property
    def target(self) -> str:
        """The id that restores it."""
        return f"{self.path}#{self.entry}" if self.entry else self.path


@dataclass(frozen=True)
class ForgottenNote:
    """The bytes of a forgotten note."""

    after: Etag  # of the marked file
    before: Etag  # of the bytes before
    shown: bool = False  # those bytes count again

    @property
    def name(self) -> str:
        return f"{self.after}.{self.before}{SHOWN if self.shown else ''}"


class Tombstones:
    """The tombstones: one private file for each forgotten note or log entry. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Open the tombstones. Raises StorageFailed for a folder that cannot be read."""
        self._folder = folder
        self._lock = threading.Lock()
        self._notes: dict[Etag, ForgottenNote] = {}
        self._hidden: set[Etag] = set()
        self._entries: dict[NotePath, set[str]] = {}
        self.problems: list[Problem] = []  # files of ours that can't be read
        with naming_the_cause(str(self._folder)):
            self._load()

    def keep(self, after: Etag, before: Etag, data: bytes) -> None:
        """Keep a note's bytes, before the marked file is published: a crash in between must not leave a forgotten note
        that can't be restored. Raises StorageFailed."""
        forgotten = ForgottenNote(after, before)
        self._write(forgotten.name, data)
        with self._lock:
            self._notes[after] = forgotten
            self._hidden.add(before)

    def keep_entry(self, stone: Tombstone) -> None:
        """Keep an entry of `MEMORY.md`, or of a log, whose bytes stay there. Raises StorageFailed."""
        path, entry = stone.path, stone.entry or ""
        at = stone.at and stone.at.isoformat()
        facts = {"at": at, "client": stone.client, "session": stone.session, "reason": stone.reason}
        line = json.dumps(facts | ({"kept": stone.kept} if stone.kept else {}))
        self._write(_entry_name(path, entry), f"{path}\n{line}\n".encode())
        with self._lock:
            self._entries.setdefault(path, set()).add(entry)

    def read_entry(self, path: NotePath, entry: str) -> Tombstone:
        """Return the tombstone of a log entry; without details if its file can't be read."""
        try:
            text = (self._folder / _entry_name(path, entry)).read_text(encoding="utf-8")
            facts: dict[str, Any] = json.loads(text.partition("\n")[2])
            at = datetime.fromisoformat(facts["at"]) if facts["at"] else None
            caller = facts["client"], facts["session"], facts["reason"]
            return Tombstone(path, entry, at, *caller, kept=facts.get("kept"))
        except (OSError, ValueError, TypeError, KeyError):
            return Tombstone(path, entry)

    def logs(self) -> list[NotePath]:
        """Return the logs with forgotten entries."""
        with self._lock:
            return sorted(path for path, entries in self._entries.items() if entries)

    def find(self, after: Etag) -> bytes | None:
        """Return the bytes from before the forget; None if they are unknown."""
        forgotten = self._notes.get(after)
        try:
            return (self._folder / forgotten.name).read_bytes() if forgotten else None
        except OSError:
            return None

    def original(self, etag: Etag) -> Etag:
        """Return the etag of a note's bytes without our marks."""
        forgotten = self._notes.get(etag)
        return forgotten.before if forgotten else etag

    def hides(self, etag: Etag) -> bool:
        """Return whether these bytes were forgotten."""
        with self._lock:
            return etag in self._hidden

    def agree_with(self, record: NoteRecord) -> bool:
        """Return whether everything that is hidden here is forgotten in the record."""
        if self.hides(record.etag) and record.state is not NoteState.DELETED:
            return False
        hidden = self.entries(record.path) if record.is_log else frozenset[str]()
        return hidden <= set(record.meta.get("forgotten", ()))

    def entries(self, path: NotePath) -> frozenset[str]:
        """Return the hashes of this log's forgotten entries."""
        with self._lock:
            return frozenset(self._entries.get(path, ()))

    def show(self, *etags: Etag) -> None:
        """Stop hiding files with these bytes, marked or not, durably. Call it before the restored file is published,
        while the note still has its own mark. Raises StorageFailed, after which they are hidden as before."""
        with self._lock:
            found = [note for note in self._with(etags) if not note.shown]
            try:
                with naming_the_cause(str(self._folder)):
                    for note in found:
                        self._rename(note, replace(note, shown=True))
                    if found:
                        self._sync()
            except StorageFailed:
                for note in found:
                    with suppress(OSError):
                        self._rename(replace(note, shown=True), note)
                raise
            self._update(replace(note, shown=True) for note in found)

    def hide(self, *etags: Etag) -> None:
        """Hide these bytes again, if no file was published after all. If the disk refuses, the note's own mark applies
        until the next forget."""
        with self._lock:
            for note in [note for note in self._with(etags) if note.shown]:
                with suppress(OSError):
                    self._rename(note, replace(note, shown=False))
                    self._update([replace(note, shown=False)])

    def release(self, *etags: Etag) -> None:
        """Remove the tombstones of files with these bytes, marked or not. Raises StorageFailed."""
        with self._lock:
            for forgotten in self._with(etags):
                self._remove(forgotten.name)
                del self._notes[forgotten.after]
            self._update()

    def release_entry(self, path: NotePath, entry: str) -> None:
        """Remove an entry's tombstone, durably. Raises StorageFailed; then the entry is forgotten as before."""
        with self._lock:
            name = _entry_name(path, entry)
            self._remove(name)
            try:
                with naming_the_cause(str(self._folder)):
                    self._sync()
            except StorageFailed:
                with suppress(StorageFailed):
                    self._write(name, path.encode())
                raise
            self._entries.get(path, set()).discard(entry)

    def etags_of(self, ids: Collection[NoteId]) -> list[Etag]:
        """Return the etags under which bytes of these notes are kept."""
        with self._lock:
            kept = list(self._notes)
        return [after for after in kept if (data := self.find(after)) is not None and _has_id(data, ids)]

    def prune(self, standing: Collection[Etag], paths: Collection[str], today: date) -> int:
        """Remove bytes that no file in the vault has needed (by its bytes, or a log by its path) for GRACE_DAYS; return
        the number of files."""
        needed = {note.name for note in self._with(standing)}
        needed |= {_entry_name(path, entry) for path in self._entries if path in paths for entry in self._entries[path]}
        with self._lock, suppress(OSError):  # the rest is removed another time
            names = {file.name for file in self._folder.iterdir()} - {CHECKS}
            if not names:
                return 0
            known = self._read_checks()
            days = list(dict.fromkeys([*known["days"], today.isoformat()]))
            since = {name: known["since"].get(name, len(days)) for name in names - needed}
            over = [name for name, day in since.items() if len(days) - day >= GRACE_DAYS]
            for name in over:
                (self._folder / name).unlink()
                del since[name]
            checks = {"days": days, "since": since}
            if checks != known:
                replace_file(self._folder / CHECKS, json.dumps(checks).encode())
            if over:
                self._load()
            return len(over)
        return 0

    def _read_checks(self) -> dict[str, Any]:
        """Return the content of the file; empty if it is missing or damaged, and then all days count anew."""
        try:
            facts = json.loads((self._folder / CHECKS).read_bytes())
            return {
                "days": list(map(str, facts["days"])),
                "since": {name: int(facts["since"][name]) for name in facts["since"]},
            }
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return {"days": [], "since": {}}

    def _load(self) -> None:
        self._notes, self._entries, self.problems = {}, {}, []
        for file in self._folder.iterdir():
            after, _, before = file.name.removesuffix(SHOWN).partition(".")
            if file.suffix == ENTRY:
                try:
                    path = NotePath(file.read_text(encoding="utf-8").partition("\n")[0])
                except (OSError, UnicodeDecodeError):
                    self.problems.append(Problem(str(file), "which log entry was forgotten cannot be read there"))
                else:
                    self._entries.setdefault(path, set()).add(after)
            elif len(after) == len(before) == hashlib.sha256().digest_size * 2:
                is_shown = file.suffix == SHOWN
                if not is_shown or after not in self._notes:
                    self._notes[Etag(after)] = ForgottenNote(Etag(after), Etag(before), is_shown)
        self._update()

    def _with(self, etags: Collection[Etag]) -> list[ForgottenNote]:
        return [note for note in self._notes.values() if not {note.after, note.before}.isdisjoint(etags)]

    def _update(self, changed: Iterable[ForgottenNote] = ()) -> None:
        self._notes |= {note.after: note for note in changed}
        self._hidden = {note.before for note in self._notes.values() if not note.shown}

    def _rename(self, old: ForgottenNote, new: ForgottenNote) -> None:
        with suppress(FileNotFoundError):  # the state folder was emptied
            (self._folder / old.name).rename(self._folder / new.name)

    def _sync(self) -> None:
        with suppress(FileNotFoundError):
            sync_folder(self._folder)

    def _write(self, name: str, data: bytes) -> None:
        with naming_the_cause(str(self._folder)):
            replace_file(self._folder / name, data)

    def _remove(self, name: str) -> None:
        with naming_the_cause(str(self._folder)):
            (self._folder / name).unlink(missing_ok=True)


def _has_id(data: bytes, ids: Collection[NoteId]) -> bool:
    """Return whether these bytes are one of these notes, by the id in their frontmatter."""
    return str(frontmatter.parse(frontmatter.decode(data).text or "").meta.get("id")) in ids


def _entry_name(path: NotePath, entry: str) -> str:
    return f"{entry}.{text_hash(path, 16)}{ENTRY}"
