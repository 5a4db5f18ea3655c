"""Collects the claims that notes make now, and their subjects.

Nothing is stored, so a forgotten, private or muted note disappears from the claims at the next question.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from mcp_memory.comparison.comparison import say_the_same
from mcp_memory.core.line_reader import LineReader
from mcp_memory.curation.claims.claim import Claim, Evidence, Subject
from mcp_memory.curation.claims.statements import statements, without_doubts
from mcp_memory.curation.claims.subject_reading import ReadSubjects, read_subjects, subjects_task
from mcp_memory.curation.claims.subjects import Name, find_names, key_of
from mcp_memory.index.base import Index
from mcp_memory.models import Clock, Filters, NoteId, Passage
from mcp_memory.recall.note_list import date_of, newest_notes
from mcp_memory.statements.candidate import StatementKind
from mcp_memory.text.language.facts import facts
from mcp_memory.text.language.terms import content_words
from mcp_memory.vault.note_file import slug
from mcp_memory.vault.succession.entry_marks import is_private

MOST_NOTES = 5000
"""The number of newest notes that are read."""


@dataclass
class ClaimBase:
    """A thread-safe collection of claims, for worker threads. It is read again only if the index has changed, which
    takes about a second of CPU for a thousand notes. `wanted` decides which notes may be shown."""

    index: Index
    wanted: Filters
    clock: Clock
    reader: LineReader
    _known: tuple[object, Sequence[Claim], Sequence[Subject]] = field(default=(None, (), ()), init=False)

    def claims(self, filters: Filters) -> list[Claim]:
        """Return all claims that the filters admit, latest first. Raises IndexUnavailable."""
        return admitted(self._read(), filters)

    def subjects(self, filters: Filters) -> list[Subject]:
        """Return the subjects in order, with the claims that the filters admit; skip subjects without claims. Raises
        IndexUnavailable."""
        self._read()
        shown = (replace(one, claims=admitted(one.claims, filters)) for one in self._known[2])
        return [one for one in shown if one.claims]

    def statements(self) -> list[Evidence]:
        """Return the statements of notes and log entries that may be shown, latest first. Raises IndexUnavailable."""
        wanted, found = replace(self.wanted, now=self.clock()), list[Evidence]()
        listed, _ = newest_notes(self.index, wanted, MOST_NOTES, self.clock(), None, None)
        notes = [note for note in listed if note.created and note.kind != StatementKind.COMMITMENT]
        parts = defaultdict[NoteId, list[Passage]](list)
        for path in {note.path for note in notes}:
            for passage in self.index.passages(path):
                if wanted.private is None or not is_private(passage, wanted.private):
                    parts[passage.shown_id].append(passage)
        for note in notes:
            if passages := parts[note.id]:
                most = 1 if note.kind == StatementKind.FIX else None  # the other sentences describe attempts
                found += without_doubts(note.title, statements(note, passages))[:most]
        return found

    def _read(self) -> Sequence[Claim]:
        key = self.index.watermark(), self.clock().date(), self.reader.changes
        if self._known[0] != key:
            stated = self.statements()
            read = read_subjects(stated, self.reader.findings(subjects_task()))
            found = _claims(stated, read.newer)
            self._known = key, found, list(_subjects(found, read))
        return self._known[1]


def _claims(stated: Sequence[Evidence], newer: Mapping[int, Evidence]) -> list[Claim]:
    """Return the claims. `newer` has the statements that replace others, by the `id()` of these: they no longer hold. A
    contradiction that nobody has decided changes nothing."""
    older = defaultdict[int, list[Evidence]](list)
    for one in stated:
        if id(one) in newer:
            older[id(newer[id(one)])].append(one)
    claims = [Claim((one,), (), newer[id(one)], holds=False) for one in stated if id(one) in newer]
    groups = _grouped([one for one in stated if id(one) not in newer])
    claims += [Claim(tuple(group), tuple(each for one in group for each in older[id(one)])) for group in groups]
    return sorted(claims, key=lambda one: date_of(one.latest.note), reverse=True)


def admitted(claims: Iterable[Claim], filters: Filters) -> list[Claim]:
    """Return the claims that have admitted evidence, without their other evidence."""

    def told(found: Iterable[Evidence | None]) -> tuple[Evidence, ...]:
        return tuple(one for one in found if one and filters.admits(one.note))

    shown = (
        replace(
            one, evidence=told(one.evidence), earlier=told(one.earlier),
            newer=next(iter(told([one.newer])), None),
        )
        for one in claims
    )  # fmt: skip
    return [one for one in shown if one.evidence]


def _grouped(stated: Sequence[Evidence]) -> list[list[Evidence]]:
    """Group statements of a project that say the same in other words, in the order of the notes. Numbers, dates, names
    and negations must agree."""
    kept = defaultdict[object, list[tuple[Set[str], list[Evidence]]]](list)
    for one in stated:
        alike, own = kept[one.note.project, facts(one.text)], content_words(one.text) or {one.text}
        # Most pairs share no word, which is found out faster.
        same = (group for known, group in alike if not own.isdisjoint(known) and say_the_same(group[0].text, one.text))
        group = next(same, None)
        if group is None:
            alike.append((own, group := []))
        group.append(one)
    return [group for alike in kept.values() for _, group in alike]


def _subjects(claims: Sequence[Claim], read: ReadSubjects) -> Iterator[Subject]:
    """Yield the projects, the subjects that a model read, and the names that rules find in what it hasn't read."""
    projects = sorted({one.project for one in claims if one.project})
    for project in projects:
        yield Subject("projects", project, [one for one in claims if one.project == project])
    rest = {key_of(name.text): name for name in find_names(read.left)}
    for name, about in read.subjects:
        rest.pop(key_of(name.text), None)
        yield from _subject(name, about | _mentions(name, read.left), claims, projects)
    for name in rest.values():
        yield from _subject(name, _mentions(name, read.left), claims, projects)


def _mentions(name: Name, stated: Sequence[Evidence]) -> set[int]:
    return {id(one) for one in stated if name.pattern.search(one.said)}


def _subject(name: Name, about: Set[int], claims: Sequence[Claim], projects: Sequence[str]) -> Iterator[Subject]:
    """Yield a subject with the claims about it and the claims that replace these, unless a project has its name."""
    own = {id(one) for one in claims if any(id(each) in about for each in one.evidence)}
    newer = {id(one.newer) for one in claims if id(one) in own and one.newer}
    told = [one for one in claims if id(one) in own or any(id(each) in newer for each in one.evidence)]
    if told and slug(name.text) not in map(slug, projects):
        yield Subject(name.folder, name.text, told)
