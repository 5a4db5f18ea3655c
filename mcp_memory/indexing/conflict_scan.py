"""Find which notes and log entries contradict one another, among the nearest of each, and keep the conflicts in the
index.

The files decide: a conflict disappears if either note is superseded, forgotten or edited, or names the other note under
`compatible_with`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from time import monotonic

from mcp_memory.comparison.comparison import Comparison
from mcp_memory.comparison.double import are_doubles
from mcp_memory.comparison.other_value import NoteText, clipped
from mcp_memory.errors import IndexReplaced
from mcp_memory.index.base import Index
from mcp_memory.indexing.contested_notes import ContestedNotes
from mcp_memory.indexing.stated_texts import LONG_AGO, Contrary, StatedText, StatedTexts
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import DOUBLE, FORK, Clock, Conflict, Etag, Filters, NoteId, NotePath, PrivateMarks
from mcp_memory.runtime.health import give_way
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.language.denials import denies
from mcp_memory.vault.ownership import is_persons
from mcp_memory.vault.succession.chains import Chains

NEAREST_OF_NEW = 6
"""The most passages that a new statement is compared with, while a caller waits."""
MAX_PARTNERS = 50
"""The most notes that a changed note is compared with again because it contradicted them, since they may not be near
it."""
MOST_ENTRIES = 200
"""The most entries of a log, the latest, that are compared whenever it changes."""
SCAN_S, BATCH_S = 5.0, 0.25
"""The seconds for which a sweep may compare notes, in all and between two writes; the next sweep goes on."""
DETECTOR = 16
"""The detector's version. Increment it when notes have to be compared again, because the detector judges them
differently."""


class ConflictScan:
    """The scan for conflicts. Thread-safe: the result is replaced as a whole. `open_conflicts` are undecided."""

    def __init__(self, index: Index, writer: IndexWriter, chains: Chains, clock: Clock) -> None:
        self._index, self._writer, self._chains, self._clock = index, writer, chains, clock
        self.is_due = True
        self.open_conflicts: Sequence[Conflict] = ()
        self.texts = StatedTexts(index, clock)
        self.contested = ContestedNotes(index, writer, clock)
        self._by_older: dict[NoteId, Conflict] = {}
        self._by_newer: dict[NoteId, Conflict] = {}
        writer.listeners.append(self._notes_changed)

    async def scan(self, seconds: float = SCAN_S) -> None:
        """Compare the notes that have changed since the last scan, for at most these seconds. Raises
        IndexUnavailable."""
        until = monotonic() + seconds
        while self.is_due and monotonic() < until:
            self.is_due = False
            try:
                self.is_due |= await in_thread(self._scan, deadline_s=60, what="comparing notes")
            except IndexReplaced:  # the next sweep fills the new one
                self.is_due = True
                return

    def contradicted_by(
        self, new_text: NoteText, when: datetime | None = None, private: PrivateMarks | None = None
    ) -> list[Contrary]:
        """Return the statements that a new one contradicts, the latest first; none that these marks cover. Raises
        IndexUnavailable."""
        new = StatedText(NoteId(""), NotePath(""), new_text, when or self._clock())
        near = list(self.texts.nearest(new_text, private, NEAREST_OF_NEW))
        ends = (one for one in self._newest(near) if "#" not in one.id)  # a long log isn't read while a caller waits
        near += [one for one in ends if (note := self._index.note(one.path)) and Filters(private=private).admits(note)]
        found = self._contradicted(new, near)
        ordered = sorted(found, key=lambda pair: self.texts.date(pair[0]), reverse=True)
        return list({older.id: (older, why) for older, why in ordered}.values())

    def newer_of(self, note_id: NoteId) -> Conflict | None:
        """Return the conflict with the latest statement that contradicts this one, directly or through others; circles
        end."""
        by_older = self._by_older
        found, seen = by_older.get(note_id), {note_id}
        while found and found.newer not in seen:
            further = by_older.get(found.newer)
            if further is None:
                break
            seen.add(found.newer)
            found = replace(further, older=found.older, older_path=found.older_path, before=found.before)
        return found

    def older_than(self, note_id: NoteId) -> Conflict | None:
        """Return the conflict with the latest statement that this one contradicts."""
        return self._by_newer.get(note_id)

    def concerns(self, note_id: NoteId) -> bool:
        return note_id in self._by_older or note_id in self._by_newer

    # -- in threads --------------------------------------------------------------------------------------------

    def _notes_changed(self, _: Sequence[NotePath]) -> None:
        self.is_due = True
        self.texts.forget()

    def _scan(self) -> bool:
        """Compare once; return whether there is more to do."""
        compared = self._index.compared()
        etags = {path: Etag(f"{etag} {DETECTOR}") for path, etag in self._writer.indexed_etags.items()}
        todo = [path for path, etag in etags.items() if compared.get(path) != etag]
        done = dict[NotePath, Etag | None].fromkeys(path for path in compared if path not in etags)
        found: list[Conflict] = []
        until = monotonic() + BATCH_S
        while todo and monotonic() < until:
            give_way()
            path = todo.pop()
            for one in list(self._conflicts_of(path)):
                found.append(one)
                known = self._by_older.get(one.older)
                if one.is_certain and (known is None or known.since <= one.since):
                    self._by_older[one.older] = one  # so that the next are compared with the latest
            done[path] = etags[path]
        changed = (
            path for path, etag in done.items() if compared.get(path, "").split()[:1] != (etag or "").split()[:1]
        )
        depending = {other for path in changed if path in compared for other in self._depending(path)}
        again = depending & compared.keys() - done.keys()
        done |= dict.fromkeys(again, Etag(""))  # until then they keep their etag, so that others may find them
        if done:
            self._index.put_conflicts(done, found)
        self.open_conflicts = sorted(self._index.conflicts(), key=lambda conflict: conflict.since)
        certain = [conflict for conflict in self.open_conflicts if conflict.is_certain]
        self._by_older = {conflict.older: conflict for conflict in certain}
        dates = {conflict.newer: conflict.since for conflict in certain}
        by_date = sorted(certain, key=lambda conflict: dates.get(conflict.older, LONG_AGO))
        self._by_newer = {conflict.newer: conflict for conflict in by_date}
        if not todo:
            self.texts.forget()
        return bool(todo or again)

    def _depending(self, path: NotePath) -> Iterator[NotePath]:
        """Yield the notes to compare again if this note changes. The notes that it contradicted may have had no room
        for other conflicts, and the notes that it replaced may be active again."""
        yield from filter(None, (conflict.partner_of(path) for conflict in self.open_conflicts))
        note = self._index.note(path)
        yield from (old.path for name in (note.supersedes if note else ()) for old in self._index.note_by_id(name))

    def _conflicts_of(self, path: NotePath) -> Iterator[Conflict]:
        partners = [path_of for one in self.open_conflicts if (path_of := one.partner_of(path))][-MAX_PARTNERS:]
        known = [stated for partner in dict.fromkeys(partners) for stated in self.texts.at(partner)]
        for stated in self.texts.at(path)[-MOST_ENTRIES:]:
            others = [*self.texts.nearest(stated.note), *known]
            others += self._newest(others)
            near = list({other.id: other for other in others if other.id != stated.id}.values())
            yield from self._forks(stated)
            yield from self._doubles(stated, near)
            found = [(older, stated, why) for older, why in self._contradicted(stated, near)]
            for newer in near:
                if self.texts.is_older(stated, newer):
                    why = Comparison(stated.note, newer.note).other_value
                    found += [(stated, newer, why)] if why else []
            for older, newer, why in found:
                at = self.texts.date(newer).isoformat()
                yield Conflict(older.id, newer.id, older.path, newer.path, at, why.before, why.after, why.why)

    def _forks(self, stated: StatedText) -> Iterator[Conflict]:
        """Yield conflicts with the notes that replaced the same note."""
        note = self._index.note(stated.path)
        if note is None or note.is_log:
            return
        for rival in filter(None, map(self._index.note, self._chains.rivals(note))):
            replaced = [name for name in note.supersedes if name in rival.supersedes]
            for other in self.texts.at(rival.path) if replaced else ():
                if other.id != stated.id and not other.holds_beside(stated):
                    known = next((found.title for found in self._index.note_by_id(replaced[0])), replaced[0])
                    yield self._undecided(stated, other, f'{FORK} "{known}"')

    def _doubles(self, stated: StatedText, near: Sequence[StatedText]) -> Iterator[Conflict]:
        """Yield the notes that say the same as this one, for the same time. A person's prohibition and an agent's copy
        of it aren't interchangeable."""
        for other in near if not stated.is_foreign and "#" not in stated.id else ():
            is_apart = other.is_foreign or "#" in other.id or other.holds_beside(stated)
            if is_apart or other.note.project != stated.note.project or not are_doubles(stated.note, other.note):
                continue
            notes = [note for path in (stated.path, other.path) if (note := self._index.note(path))]
            times = {(str(note.meta.get("due")), note.expires_at) for note in notes}
            if len(times) == 1 and (len({*map(is_persons, notes)}) == 1 or not denies(stated.note.text)):
                yield self._undecided(stated, other, DOUBLE)

    def _undecided(self, stated: StatedText, other: StatedText, why: str) -> Conflict:
        older, newer = sorted((stated, other), key=lambda one: (self.texts.date(one), one.id))
        at = self.texts.date(newer).isoformat()
        return Conflict(older.id, newer.id, older.path, newer.path, at, clipped(older.note.text), None, why)

    def _newest(self, others: Sequence[StatedText]) -> list[StatedText]:
        """Return the latest statements that contradict these."""
        ends = {end.newer: end.newer_path for other in others if (end := self.newer_of(other.id))}
        return [other for end, path in ends.items() for other in self.texts.at(path) if other.id == end]

    def _contradicted(self, newer: StatedText, near: Sequence[StatedText]) -> list[Contrary]:
        olders = [older for older in near if self.texts.is_older(older, newer)]
        compared = [(older, Comparison(older.note, newer.note).other_value) for older in olders]
        return [(older, value) for older, value in compared if value]
