"""Follow which note replaced which, by the marks in the notes' own files.

A superseded note is active again once everything that replaced it is forgotten, expired or gone; so a chain has one
active note, unless all have ended. A file that only claims to replace another changes nothing: the older note has the
mark.
"""

import re
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from mcp_memory.errors import McpMemoryError, NotFound, PathRefused
from mcp_memory.models import NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.text.markdown import logs
from mcp_memory.vault.journals.ledger import Ledger
from mcp_memory.vault.marks.set_aside import likely_originals_of
from mcp_memory.vault.note_file import ARCHIVE, INBOX, NoteFile
from mcp_memory.vault.note_store import NoteStore
from mcp_memory.vault.succession.entry_marks import entry_note, entry_record, successors_of_entries

_OURS = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
"""An id that we gave. A name that isn't such an id may be a person's, and only they know whether its note is gone."""


MOST_IN_CIRCLE = 200
"""The most notes of a circle; a longer circle hides all its notes, and `doctor` names it. Limits how many files a note
makes us read."""


class Chains:
    """The chains of notes. Reads the files, since the index may be behind. Thread-safe."""

    def __init__(self, notes: NoteStore, ledger: Ledger) -> None:
        self._notes = notes
        self._ledger = ledger
        self._lock = threading.Lock()
        self._named: dict[NotePath, set[NoteId]] = {}
        self._naming: dict[NoteId, dict[NotePath, None]] = {}
        self._versions: dict[NotePath, dict[NotePath, None]] = {}
        """What may be another version of a note, judging by its name."""
        self._ends: dict[NotePath, datetime] = {}
        """When notes expire that replaced others."""
        self.paths_of: Callable[[NoteId], Sequence[NotePath]] = lambda _: ()
        """Where the index knows a note from."""

    def learn(self, path: NotePath, record: NoteRecord | None) -> None:
        """Learn which other notes a note names; call it for each note that the index knows. `record` is None for a note
        that is gone."""
        names = {*record.supersedes, *_successors(record)} if record else set[NoteId]()
        with self._lock:
            for original in likely_originals_of(path) if record else ():
                self._versions.setdefault(NotePath(original), {})[path] = None
            for name in self._named.pop(path, set[NoteId]()) - names:
                self._naming[name].pop(path, None)
            for name in names:
                self._naming.setdefault(name, {})[path] = None
            if names:
                self._named[path] = names
            self._ends.pop(path, None)
            if record and record.supersedes and record.expires_at:
                self._ends[path] = record.expires_at

    def expired(self) -> list[NotePath]:
        """Return the notes that replaced others and have expired, each once after it was learned."""
        with self._lock:
            now = self._notes.clock()
            found = [path for path, end in self._ends.items() if end <= now]
            for path in found:
                del self._ends[path]
        return found

    def resolved(self, file: NoteFile) -> NoteFile:
        """Return the note with its state in its chain. It is active again if no note that replaced it is left. In a
        circle made by hand, only the newest note is active."""
        record = file.record
        if record.superseded_at and record.superseded_by and self._counts_again(record):
            inner = self._notes.layout.below_home(record.path) or ""
            places = {ARCHIVE: NoteState.ARCHIVED, INBOX: NoteState.INBOX}
            state = places.get(inner.partition("/")[0], NoteState.ACTIVE)
            return replace(file, record=replace(record, state=state, superseded_at=None))
        marked = (entry_record(record, entry) for entry in successors_of_entries(record))
        if again := [entry.id.rpartition("#")[2] for entry in marked if self._counts_again(entry)]:
            return replace(file, record=replace(record, meta={**record.meta, "counts_again": again}))
        return file

    def find(self, note_id: NoteId) -> NoteFile | None:
        """Return the note or log entry with this id, as its own file has it; a forgotten one is returned only if all
        are forgotten.

        Raises McpMemoryError if a file cannot be read now."""
        path, _, entry = note_id.rpartition("#")
        is_entry = logs.is_log_path(path)
        forgotten = None
        places = [path] if is_entry else [*reversed(self._ledger.places_of(note_id)), *self.paths_of(note_id)]
        for place in dict.fromkeys(places):
            with suppress(NotFound, PathRefused):
                file = self._notes.read(NotePath(place), chained=False)
                file = entry_note(file, entry) if is_entry else file
                if file and file.record.id == note_id and file.record.state is not NoteState.DELETED:
                    return file
                forgotten = file if file and file.record.id == note_id else forgotten
        return forgotten

    def require(self, note_id: NoteId) -> NoteFile:
        """Return the note with this id, in the state that it has in its chain. Raises NotFound."""
        if file := self.find(note_id):
            return self.resolved(file)
        raise NotFound(f"no note or entry with the id {note_id}", hint="memory_search finds ids")

    def later(self, file: NoteFile, known: Container[NoteId] = ()) -> list[NoteFile]:
        """Yield the notes that replaced this one, one after the other, without forgotten notes, until a note that
        nothing replaced, that is `known`, or that is active in its circle."""
        found, seen, record = list[NoteFile](), set[NoteId](), file.record
        while record.superseded_at or record.state is NoteState.DELETED:
            after = next((note for note in self._standing(record, seen) if note), None)
            if after is None:
                break
            found.append(after)
            record = after.record
            if record.id in known:
                return found
        if record.superseded_at:  # a circle, or replaced by a name that no note has
            counting = (
                place for place, note in enumerate([file, *found]) if self.resolved(note).record.superseded_at is None
            )
            return found[: next(counting, None)]
        return found

    def heads(self, note_ids: Iterable[NoteId]) -> dict[NoteId, NoteId]:
        """Return the id of the active note in place of each of these superseded notes, without notes that can't be
        read."""
        heads = dict[NoteId, NoteId]()
        for note_id in note_ids:
            with suppress(McpMemoryError):
                if later := [note.record.id for note in self.later(self.require(note_id), heads)]:
                    heads.update(dict.fromkeys([note_id, *later], heads.get(later[-1], later[-1])))
        return heads

    def holding(self, file: NoteFile) -> NoteFile | None:
        """Return the other note of the chain that is active now: the note that replaced this note or, if that is
        forgotten, the note that this note had replaced."""
        later, pending, seen = self.later(file), [file.record], set[NoteId]()
        while not later and pending and pending[-1].state is NoteState.DELETED:
            for before in self._before(pending.pop(), seen):
                later = (
                    later or self.later(before) or ([before] if before.record.state is not NoteState.DELETED else [])
                )
                pending.append(before.record)
        head = self.resolved(later[-1]) if later else None
        return head if head and head.record.state is NoteState.ACTIVE else None

    def depending(self, record: NoteRecord) -> list[NotePath]:
        """Return the notes whose state may depend on this one, after it was stored, forgotten, restored or removed.
        These are the notes that it replaced, also through forgotten and lost notes, and possible other versions of it.
        """
        replaced = {name: self._found(name) for name in record.supersedes}
        found, seen = {file.record.path: None for file in replaced.values() if file}, {record.id}
        pending = [record.id, *(name for name, file in replaced.items() if file is None)]
        while pending:
            name = pending.pop()
            for known in (file.record for file in self._files_naming(name)):
                if name in _successors(known):
                    found[known.path] = None
                    if known.state is NoteState.DELETED and known.id not in seen:
                        seen.add(known.id)
                        pending.append(known.id)
        # in a circle, the notes that it replaced are among them
        for later in (self._later_links(record) or {}).values():
            found |= {note.path: None for note in later}
        return [*(found | self._versions.get(record.path, {}))]

    def rivals(self, record: NoteRecord) -> list[NotePath]:
        """Return the places of other notes that may have replaced the same notes."""
        with self._lock:
            paths = {path: None for name in record.supersedes for path in self._naming.get(name, ())}
        return [path for path in paths if path != record.path]

    def history(self, file: NoteFile) -> list[NoteFile]:
        """Return all notes of the chain, the newest first, including forgotten ones."""
        notes, pending = {file.record.id: file}, [file.record]
        while pending:
            record = pending.pop()
            after = [*filter(None, map(self._found, record.superseded_by)), *self._files_naming(record.id)]
            after = [note for note in after if not note.record.is_log]
            new = {note.record.id: note for note in (*self._before(record, set()), *after)}
            pending += [note.record for name, note in new.items() if name not in notes]
            notes = new | notes
        order = sorted(
            notes.values(), key=lambda note: (note.record.created is not None, note.record.created, note.record.id)
        )
        return [self.resolved(note) for note in reversed(order)]

    def _counts_again(self, record: NoteRecord) -> bool:
        """Return whether the note is active again: nothing that replaced it is left, or only notes of a circle in which
        it is the newest."""
        is_dated = "#" not in record.id  # an entry's hour is in its text
        if any(file is None or (is_dated and _age(file.record) > _age(record)) for file in self._standing(record)):
            return False  # nearly always, with one file read
        links = self._later_links(record)
        if links is None:
            return False
        newest = max((note for later in links.values() for note in later), key=_age, default=record)
        return not links[record.id] or (all(links.values()) and newest.id == record.id)

    def _later_links(self, record: NoteRecord) -> dict[NoteId, list[NoteRecord]] | None:
        """Return the notes that replaced a note, directly or through other notes. None if a name may belong to a note
        that isn't gone, or if there are more notes than in a circle made by hand."""
        links, pending = dict[NoteId, list[NoteRecord]](), [record]
        while pending:
            known = pending.pop()
            standing = list(self._standing(known))
            files = [file for file in standing if file]
            if len(files) < len(standing) or len(links) > MOST_IN_CIRCLE:
                return None
            links[known.id] = [file.record for file in files]
            pending += [file.record for file in files if file.record.id not in links]
        return links

    def _standing(self, record: NoteRecord, seen: set[NoteId] | None = None) -> Iterator[NoteFile | None]:
        """Yield the notes that replaced a note, the latest first. In place of a forgotten or expired note come the
        notes that replaced it, and None for a name whose note may not be gone. Skips notes in `seen`, and adds to
        it."""
        pending, seen = [*record.superseded_by], set[NoteId]() if seen is None else seen
        seen.add(record.id)
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            try:
                file = self.find(name)
            except McpMemoryError:
                yield None
                continue
            end = file.record.expires_at if file and "due" not in file.record.meta else None
            has_ended = end is not None and end <= self._notes.clock()  # it replaced another note only for a time
            if file and file.record.state is not NoteState.DELETED and not has_ended:
                yield file
            elif file:
                pending += file.record.superseded_by
            elif not _OURS.fullmatch(name):
                yield None
            else:
                pending += [known.record.id for known in self._files_naming(name) if name in known.record.supersedes]

    def _before(self, record: NoteRecord, seen: set[NoteId]) -> list[NoteFile]:
        """Return the notes that a note replaced directly. Skips notes in `seen`, and adds to it."""
        found = [*map(self._found, record.supersedes)]
        for file in self._files_naming(record.id):
            marked = successors_of_entries(file.record).items()
            found += [entry_note(file, entry) for entry, by in marked if by == record.id]
            found += [file] if record.id in file.record.superseded_by else []
        new = {file.record.id: file for file in found if file and file.record.id not in seen}
        seen.update(new)
        return list(new.values())

    def _found(self, name: NoteId) -> NoteFile | None:
        try:
            return self.find(name)
        except McpMemoryError:
            return None

    def _files_naming(self, name: NoteId) -> Iterable[NoteFile]:
        with self._lock:
            paths = list(self._naming.get(name, ()))
        for path in paths:
            with suppress(McpMemoryError):
                yield self._notes.read(path, chained=False)


def _successors(record: NoteRecord) -> list[NoteId]:
    return [*record.superseded_by, *successors_of_entries(record).values()]


def _age(record: NoteRecord) -> tuple[bool, float, NoteId]:
    return record.created is not None, record.created.timestamp() if record.created else 0, record.id
