"""Collects the claims that notes make now, and their subjects.

Nothing is stored, so a forgotten, private or muted note disappears from the claims at the next question.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import NamedTuple

from mcp_memory.comparison.comparison import say_the_same
from mcp_memory.comparison.other_value import NoteText, find_contradiction
from mcp_memory.curation.claims.claim import Claim, Evidence, Subject
from mcp_memory.curation.claims.outdated import replaced_value, without_value
from mcp_memory.curation.claims.statements import statements, without_doubts
from mcp_memory.curation.claims.subjects import Name, find_mentions, find_names
from mcp_memory.index.base import Index
from mcp_memory.models import Clock, Conflict, Filters, NoteId, NotePath, NoteRecord, Passage
from mcp_memory.recall.excerpts import shortened
from mcp_memory.recall.note_list import date_of, newest_notes
from mcp_memory.statements.candidate import StatementKind
from mcp_memory.text.language.facts import facts
from mcp_memory.text.language.terms import content_words
from mcp_memory.topics.page import ENTITIES
from mcp_memory.vault.succession.entry_marks import is_private
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten

MOST_NOTES, MOST_COMPARED = 5000, 50
"""The number of newest notes that are read, and of a name's newest statements that are compared with one another."""


@dataclass
class ClaimBase:
    """A thread-safe collection of claims, for worker threads. It is read again only if the index has changed, which
    takes a second for thousands of notes. `wanted` decides which notes may be shown."""

    index: Index
    wanted: Filters
    clock: Clock
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

    def _read(self) -> Sequence[Claim]:
        wanted = replace(self.wanted, now=self.clock())
        conflicts = [one for one in self.index.conflicts() if not one.is_double]
        key = self.index.watermark(), wanted.now and wanted.now.date(), tuple(conflicts)
        known = self._known
        if known[0] != key:
            found, names = self._collect(wanted, conflicts)
            self._known = known = key, found, [*_projects(found), *_named(found, names)]
        return known[1]

    def _collect(self, wanted: Filters, conflicts: Sequence[Conflict]) -> tuple[list[Claim], list[Name]]:
        listed, _ = newest_notes(self.index, wanted, MOST_NOTES, self.clock(), None, None)
        notes = [note for note in listed if note.created and note.kind != StatementKind.COMMITMENT]
        stated = self._evidence(notes)
        everything = [one for group in stated.values() for one in group]
        names = find_names([(one.note.title, one.text) for one in everything])
        outdated = _changed(everything, names) | _refuted(stated, conflicts)
        claims, holding = list[Claim](), list[Evidence]()
        replaced = defaultdict[int, list[Evidence]](list)
        for one in everything:
            if id(one) not in outdated:
                holding.append(one)
                continue
            change = outdated[id(one)]
            claims.append(Claim((one,), outdated=change.value, replaced_by=change.newer, conflict=change.conflict))
            if change.newer:
                replaced[id(change.newer)].append(one)
            if rest := without_value(one.text, change.value):
                is_named = content_words(change.subject) & content_words(rest)
                holding.append(one._replace(text=rest if is_named else f"{change.subject}: {rest}"))
        for group in _grouped(holding):
            older = [other for one in group for other in replaced[id(one)]]
            claims.append(Claim(tuple(group), tuple(older)))
        return sorted(claims, key=lambda one: date_of(one.latest.note), reverse=True), names

    def _evidence(self, notes: Iterable[NoteRecord]) -> Mapping[NoteId, list[Evidence]]:
        """Collect the statements of each note or log entry."""
        logs: dict[NotePath, Mapping[NoteId, list[Passage]]] = {}
        found: dict[NoteId, list[Evidence]] = {}
        for note in notes:
            if note.path not in logs:
                parts = defaultdict[NoteId, list[Passage]](list)
                for passage in self.index.passages(note.path):
                    if self.wanted.private is None or not is_private(passage, self.wanted.private):
                        parts[passage.shown_id].append(passage)
                logs[note.path] = parts
            if passages := logs[note.path].get(note.id):
                most = 1 if note.kind == StatementKind.FIX else None  # the other sentences describe attempts
                stated = islice(without_doubts(note.title, statements(passages)), most)
                found[note.id] = [Evidence(_marked(note), text, line) for text, line in stated]
        return found


def admitted(claims: Iterable[Claim], filters: Filters) -> list[Claim]:
    """Return the claims that have admitted evidence, without their other evidence."""

    def told(found: Iterable[Evidence]) -> tuple[Evidence, ...]:
        return tuple(one for one in found if filters.admits(one.note))

    shown = (
        replace(
            one, evidence=told(one.evidence), replaces=told(one.replaces),
            replaced_by=next(iter(told([one.replaced_by] if one.replaced_by else [])), None),
        )
        for one in claims
    )  # fmt: skip
    return [one for one in shown if one.evidence]


def _marked(note: NoteRecord) -> NoteRecord:
    """Return a log entry with only the confirmations of this entry."""
    marks, entry = note.meta.get("confirmed"), note.id.rpartition("#")[2]
    if not marks or not note.is_log:
        return note
    return replace(note, meta={**note.meta, "confirmed": [one for one in marks if one.startswith(f"{entry}=")]})


class _Change(NamedTuple):
    """The `value` of a statement that doesn't hold anymore, the newer statement, and the statement's subject."""

    value: str
    newer: Evidence | None
    subject: str
    conflict: Conflict | None = None


def _refuted(stated: Mapping[NoteId, Sequence[Evidence]], conflicts: Iterable[Conflict]) -> dict[int, _Change]:
    """Return the sentences that a newer note contradicts: the sentences with the changed value, or all if no sentence
    contains it or nothing was compared."""
    found: dict[int, _Change] = {}
    for known in conflicts:
        before = known.before.removesuffix(" …").strip() if known.is_certain else ""
        older, newer = stated.get(known.older, ()), stated.get(known.newer, ())
        by = next((one for one in newer if known.after and known.after in _bare(one.text)), next(iter(newer), None))
        for one in [one for one in older if before and before in _bare(one.text)] or older:
            found[id(one)] = _Change(before or one.text, by, one.note.title, known)
    return found


def _note_text(one: Evidence) -> NoteText:
    return NoteText(_bare(one.text), one.note.title, one.note.kind)


def _changed(said: Sequence[Evidence], names: Iterable[Name]) -> dict[int, _Change]:
    """Return the statements with a value that a newer statement about the same name replaces."""
    found: dict[int, _Change] = {}
    for name, places in find_mentions(names, [one.text for one in said]).items():
        about = sorted((said[place] for place in places), key=lambda one: date_of(one.note))[-MOST_COMPARED:]
        for older, newer in combinations(about, 2):
            projects = {older.note.project, newer.note.project} - {None}
            if older.note.id == newer.note.id or len(projects) > 1 or older.note.is_log:
                continue
            known = find_contradiction(_note_text(older), _note_text(newer))
            if value := known.before if known else replaced_value(older.text, newer.text, name):
                found[id(older)] = _Change(value, newer, name.text)
    return found


def _grouped(stated: Sequence[Evidence]) -> list[list[Evidence]]:
    """Group statements of a project that say the same in other words, in the order of the notes. Numbers, dates, names
    and negations must agree."""
    kept = defaultdict[object, list[list[Evidence]]](list)
    for one in stated:
        alike = kept[one.note.project, facts(one.text)]
        group = next((group for group in alike if say_the_same(group[0].text, one.text)), None)
        if group is None:
            alike.append(group := [])
        group.append(one)
    return [group for alike in kept.values() for group in alike]


def _projects(claims: Sequence[Claim]) -> Iterator[Subject]:
    for name in sorted({one.project for one in claims if one.project}):
        yield Subject("projects", name, [one for one in claims if one.project == name])


def _named(claims: Sequence[Claim], names: Iterable[Name]) -> Iterator[Subject]:
    for name, places in find_mentions(names, [one.text for one in claims]).items():
        if places:
            yield Subject(name.folder, name.text, [claims[place] for place in places])


def _bare(text: str) -> str:
    return text.replace("`", "")


@dataclass(frozen=True)
class ClaimProblem:
    """A problem. `kind` is an open `conflict`, or an `orphan`, which is a page that may contain forgotten text. `path`
    is the place to look at; `notes` are the quoted notes."""

    kind: str
    text: str
    path: NotePath
    why: str
    remedy: str
    notes: tuple[NoteId, ...] = ()


def list_problems(vault: Vault, index: Index, base: ClaimBase) -> list[ClaimProblem]:
    """List the problems of all notes that may be shown. Reads files and the index. Raises IndexUnavailable,
    StorageFailed."""
    found = list[ClaimProblem]()
    for one in base.claims(Filters()):
        if one.replaced_by and one.conflict:
            newer = one.replaced_by.note.id
            why = f"{one.conflict.why}; a newer note says: {one.replaced_by.text}"
            remedy, notes = f"mcp-memory review --keep {shortened(newer) or newer}", (one.latest.note.id, newer)
            found.append(ClaimProblem("conflict", one.text, one.latest.note.path, why, remedy, notes))
    for page in index.pages(vault.layout.in_home(ENTITIES)):
        if quotes_forgotten(vault.read(page.path).text, vault, index):
            remedy = "mcp-memory topics organize"
            if not vault.filing.is_as_written(page):
                remedy = f"delete it, then {remedy} makes it anew"
            why = "rests on a note that is forgotten or gone"
            found.append(ClaimProblem("orphan", page.path, page.path, why, remedy))
    return found
