"""Stores what a restore puts back, and remembers what stays forgotten when another program brings it back.

A forgotten note is marked in its own file. A sync client or a stale save may put the unmarked bytes back; they are
known here by their etag, and an entry of a log by its hash, so that they stay out of every answer.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from mcp_memory.errors import StorageFailed
from mcp_memory.models import Etag, NoteId, NotePath, Problem
from mcp_memory.runtime.private_files import replace_file, sync_folder
from mcp_memory.text.markdown import frontmatter

GRACE_DAYS = 30
"""Kept so long after the forgotten note's file has gone, since a sync client or a backup may bring it back. While
the file stands it is kept for ever: a restore promises the very bytes. The days are those on which we looked: a clock
that is a year ahead for an hour makes nothing old."""

ENTRY, GONE, SHOWN, DAYS = ".entry", ".gone", ".shown", "days"
"""What a forgotten entry's file ends with, a mark that nothing needs the file beside it any more, the bytes of a note
that is about to be restored, and which days there were."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a client by its name, and its session, as far as they are known. A person at the command line may
    change what no agent may."""

    client: str | None = None
    session: str | None = None
    is_person: bool = False


UNKNOWN = Caller()


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is known of a forgotten note or entry (`entry`: its hash): when, by which client, in which session, why."""

    path: NotePath
    entry: str | None
    at: datetime | None = None
    client: str | None = None
    session: str | None = None
    reason: str | None = None
    title: str = ""

    @property
    def target(self) -> str:
        """The id that restores it."""
        return f"{self.path}#{self.entry}" if self.entry else self.path


@dataclass(frozen=True, slots=True)
class ForgottenNote:
    """A forgotten note: the etags of the marked file and of the bytes before. `shown`: those bytes count again."""

    after: Etag
    before: Etag
    shown: bool = False

    @property
    def name(self) -> str:
        return f"{self.after}.{self.before}{SHOWN if self.shown else ''}"


class Tombstones:
    """One private file a forgotten note or log entry. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Raises StorageFailed for a folder that cannot be read."""
        self._folder = folder
        self._lock = threading.Lock()
        self._notes: dict[Etag, ForgottenNote] = {}
        self._hidden: set[Etag] = set()
        self._entries: dict[NotePath, set[str]] = {}
        self.problems: list[Problem] = []
        """Files of ours that cannot be read."""
        with _naming(folder):
            self._load()

    def keep(self, after: Etag, before: Etag, data: bytes) -> None:
        """To be called before the marked file is published: a crash in between leaves a note forgotten that nobody was
        told of, never one without the way back. Raises StorageFailed."""
        forgotten = ForgottenNote(after, before)
        self._write(forgotten.name, data)
        with self._lock:
            self._notes[after] = forgotten
            self._hidden.add(before)

    def keep_entry(self, stone: Tombstone) -> None:
        """As `keep`, for an entry of a log, whose bytes stay where they are. Raises StorageFailed."""
        path, entry = stone.path, stone.entry or ""
        at = stone.at and stone.at.isoformat()
        facts = {"at": at, "client": stone.client, "session": stone.session, "reason": stone.reason}
        line = json.dumps(facts, ensure_ascii=False)
        self._write(_entry_name(path, entry), f"{path}\n{line}\n".encode())
        with self._lock:
            self._entries.setdefault(path, set()).add(entry)

    def read_entry(self, path: NotePath, entry: str) -> Tombstone:
        """What was noted when a log entry was forgotten; its place alone where that cannot be read."""
        try:
            text = (self._folder / _entry_name(path, entry)).read_text(encoding="utf-8")
            facts: dict[str, Any] = json.loads(text.partition("\n")[2])
            at = datetime.fromisoformat(facts["at"]) if facts["at"] else None
            return Tombstone(path, entry, at, facts["client"], facts["session"], facts["reason"])
        except (OSError, ValueError, TypeError, KeyError):
            return Tombstone(path, entry)

    def logs(self) -> list[NotePath]:
        """Those of which entries were forgotten."""
        with self._lock:
            return sorted(path for path, entries in self._entries.items() if entries)

    def find(self, after: Etag) -> bytes | None:
        """What stood there before; None where that is not known."""
        forgotten = self._notes.get(after)
        try:
            return (self._folder / forgotten.name).read_bytes() if forgotten else None
        except OSError:
            return None

    def original(self, etag: Etag) -> Etag:
        """The etag of a note's bytes without our marks."""
        forgotten = self._notes.get(etag)
        return forgotten.before if forgotten else etag

    def hides(self, etag: Etag) -> bool:
        """Whether these very bytes were forgotten."""
        with self._lock:
            return etag in self._hidden

    def entries(self, path: NotePath) -> frozenset[str]:
        """The hashes of this log's forgotten entries."""
        with self._lock:
            return frozenset(self._entries.get(path, ()))

    def show(self, *etags: Etag) -> None:
        """Files with these bytes, marked or not, are not hidden any more, also after a power cut; to be called before
        such a file is published, as long as it bears its own mark. Raises StorageFailed; then they are as hidden as
        before."""
        with self._lock:
            found = [each for each in self._with(etags) if not each.shown]
            done: list[ForgottenNote] = []
            try:
                with _naming(self._folder):
                    for each in found:
                        done.append(each)
                        self._rename(each, replace(each, shown=True))
                    if found:
                        self._sync()
            except StorageFailed:
                for each in done:
                    with suppress(OSError):
                        self._rename(replace(each, shown=True), each)
                raise
            self._know(replace(each, shown=True) for each in found)

    def hide(self, *etags: Etag) -> None:
        """They are hidden again: no file was published after all. What the disk refuses waits for the next forget, and
        the note's own mark counts until then."""
        with self._lock:
            found = [each for each in self._with(etags) if each.shown]
            for each in found:
                with suppress(OSError):
                    self._rename(each, replace(each, shown=False))
                    self._know([replace(each, shown=False)])

    def release(self, *etags: Etag) -> None:
        """Files with these bytes, marked or not, are forgotten no longer. Raises StorageFailed."""
        with self._lock:
            for forgotten in self._with(etags):
                self._remove(forgotten.name)
                del self._notes[forgotten.after]
            self._know()

    def release_entry(self, path: NotePath, entry: str) -> None:
        """Also after a power cut. Raises StorageFailed; then it is as forgotten as before."""
        with self._lock:
            name = _entry_name(path, entry)
            self._remove(name)
            try:
                with _naming(self._folder):
                    self._sync()
            except StorageFailed:
                with suppress(StorageFailed):
                    self._write(name, path.encode())
                raise
            self._entries.get(path, set()).discard(entry)

    def etags_of(self, ids: Collection[NoteId]) -> list[Etag]:
        """Under which etags bytes of these notes are kept."""
        with self._lock:
            kept = list(self._notes)
        return [after for after in kept if (data := self.find(after)) is not None and _has_id(data, ids)]

    def prune(self, standing: Collection[Etag], paths: Collection[str], today: date) -> int:
        """Removes what no file in the vault has needed (by its bytes, or a log by its path) for the grace; how many
        files that were."""
        pruned = 0
        needed = {each.name for each in self._notes.values() if not {each.after, each.before}.isdisjoint(standing)}
        needed |= {_entry_name(path, entry) for path in self._entries if path in paths for entry in self._entries[path]}
        with self._lock, suppress(OSError, ValueError):  # nothing depends on it: what fails goes another time
            names = {file.name for file in self._folder.iterdir()} - {DAYS}
            if not names:
                return 0
            day = self._day(today)
            for name in names:
                if name.endswith(GONE):
                    if name.removesuffix(GONE) in needed or name.removesuffix(GONE) not in names:
                        (self._folder / name).unlink()
                elif name in needed:
                    continue
                elif (since := self._gone_since(name)) is None:
                    replace_file(self._folder / (name + GONE), str(day).encode())
                elif day - since >= GRACE_DAYS:
                    (self._folder / name).unlink()
                    (self._folder / (name + GONE)).unlink()
                    pruned += 1
            if pruned:
                self._load()
        return pruned

    def _gone_since(self, name: str) -> int | None:
        """On which of our days; None where no mark says so, or it was never written to the end. Raises OSError."""
        try:
            return int((self._folder / (name + GONE)).read_bytes())
        except (FileNotFoundError, ValueError):
            return None

    def _day(self, today: date) -> int:
        """The number of days on which we looked, this one included."""
        file = self._folder / DAYS
        known = file.read_text(errors="replace").split() if file.exists() else []
        if today.isoformat() not in known:
            known.append(today.isoformat())
            replace_file(file, "\n".join(known).encode())
        return len(known)

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
        self._know()

    def _with(self, etags: Collection[Etag]) -> list[ForgottenNote]:
        return [each for each in self._notes.values() if not {each.after, each.before}.isdisjoint(etags)]

    def _know(self, changed: Iterable[ForgottenNote] = ()) -> None:
        self._notes |= {each.after: each for each in changed}
        self._hidden = {each.before for each in self._notes.values() if not each.shown}

    def _rename(self, old: ForgottenNote, new: ForgottenNote) -> None:
        with suppress(FileNotFoundError):  # somebody emptied the state folder
            (self._folder / old.name).rename(self._folder / new.name)

    def _sync(self) -> None:
        with suppress(FileNotFoundError):
            sync_folder(self._folder)

    def _write(self, name: str, data: bytes) -> None:
        with _naming(self._folder):
            replace_file(self._folder / name, data)

    def _remove(self, name: str) -> None:
        with _naming(self._folder):
            (self._folder / name).unlink(missing_ok=True)


def _has_id(data: bytes, ids: Collection[NoteId]) -> bool:
    """Whether these bytes are one of these notes, as their frontmatter has it."""
    return str(frontmatter.parse(frontmatter.decode(data).text or "").meta.get("id")) in ids


def _entry_name(path: NotePath, entry: str) -> str:
    return f"{entry}.{hashlib.sha256(path.encode()).hexdigest()[:16]}{ENTRY}"


@contextmanager
def _naming(folder: Path) -> Generator[None]:
    """Turns every OSError of the block into StorageFailed."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(f"cannot keep what a restore needs: {error.strerror}", hint=str(folder)) from error
