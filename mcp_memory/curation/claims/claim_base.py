"""Collects the claims that notes make now, and their subjects.

Nothing is stored, so a forgotten, private or muted note disappears from the claims at the next question.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from mcp_memory.comparison.comparison import say_the_same
from mcp_memory.curation.claims.claim import UNSURE, Claim, Evidence, Subject
from mcp_memory.curation.claims.statements import statements
from mcp_memory.index.base import Index
from mcp_memory.models import Conflict, Filters, NoteId, NotePath, NoteRecord, NoteState, Passage, etag_of
from mcp_memory.recall.excerpts import shortened
from mcp_memory.recall.note_list import date_of, newest_notes
from mcp_memory.statements.candidate import StatementKind
from mcp_memory.text.language.facts import FactKind, facts
from mcp_memory.text.language.subjects import GENERIC_WORDS
from mcp_memory.text.language.terms import fold
from mcp_memory.text.language.word_tables import read_table
from mcp_memory.topics.page import CONTENTS, ENTITIES
from mcp_memory.vault.succession.entry_marks import is_private
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

LEAST_MENTIONS, CUED, MOST_NOTES = 3, 0.15, 5000
"""The minimum number of claims that mention a subject, the minimum share of these that show its type, and the number of
newest notes that are read."""

_WORDS = re.compile(r"[\w-]*\w")
_CODE_WORD = re.compile(r"[a-z][a-z0-9-]{1,30}")
"""Code words that may be the name of a tool."""


@dataclass
class ClaimBase:
    """A thread-safe collection of claims, for worker threads. It is read again only if the index has changed, which
    takes a second for thousands of notes. `wanted` decides which notes may be shown."""

    index: Index
    wanted: Filters
    clock: Callable[[], datetime]
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
            found = self._collect(wanted, conflicts)
            self._known = known = key, found, [*_projects(found), *_named(found)]
        return known[1]

    def _collect(self, wanted: Filters, conflicts: Sequence[Conflict]) -> list[Claim]:
        listed, _ = newest_notes(self.index, wanted, MOST_NOTES, self.clock(), None, None)
        notes = [note for note in listed if note.created and note.kind != StatementKind.COMMITMENT]
        if not notes:
            return []
        stated = self._evidence(notes)
        olders = {one.older: one for one in conflicts}
        newers = defaultdict[NoteId, list[Conflict]](list)
        for one in conflicts:
            newers[one.newer].append(one)
        refuted = {id(one) for group in stated.values() for one in _refuted(group, olders)}

        def refutes(one: Evidence) -> Iterator[Evidence]:
            for known in newers[one.note.id]:
                if not known.after or known.after in _bare(one.text):
                    yield from (other for other in stated.get(known.older, ()) if id(other) in refuted)

        single = [group[0] for group in stated.values() if len(group) == 1 and not group[0].note.is_log]
        means = self.index.mean_vectors([one.note.path for one in single])
        vectors = {one.note.id: vector for one, vector in zip(single, means, strict=True)}
        everything = [one for group in stated.values() for one in group]
        groups = [
            *_grouped([one for one in everything if id(one) not in refuted], vectors),
            *([one] for one in everything if id(one) in refuted),
        ]
        as_of, claims = max(map(date_of, notes)), list[Claim]()
        for group in groups:
            conflict = olders[group[0].note.id] if id(group[0]) in refuted else None
            newer = stated.get(conflict.newer, [])[:1] if conflict else []
            older = [] if conflict else [other for one in group for other in refutes(one)]
            claims.append(Claim(tuple(group), as_of, tuple(older), conflict, newer[0] if newer else None))
        return sorted(claims, key=lambda one: date_of(one.latest.note), reverse=True)

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
                stated = islice(statements(passages), most)
                found[note.id] = [Evidence(_marked(note), text, line) for text, line in stated]
        return found


def admitted(claims: Iterable[Claim], filters: Filters) -> list[Claim]:
    """Return the claims that have admitted evidence, without their other evidence."""

    def told(found: Iterable[Evidence]) -> tuple[Evidence, ...]:
        return tuple(one for one in found if filters.admits(one.note))

    shown = (
        replace(
            one, evidence=told(one.evidence), contradicts=told(one.contradicts),
            refuted_by=next(iter(told([one.refuted_by] if one.refuted_by else [])), None),
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


def _refuted(stated: Sequence[Evidence], olders: Mapping[NoteId, Conflict]) -> Sequence[Evidence]:
    """Return the sentences that a newer note contradicts: the sentences with the changed value, or all if no sentence
    contains it or nothing was compared."""
    conflict = olders.get(stated[0].note.id) if stated else None
    if conflict is None:
        return ()
    before = conflict.before.removesuffix(" …").strip() if conflict.is_certain else ""
    return [one for one in stated if before and before in _bare(one.text)] or stated


def _grouped(stated: Sequence[Evidence], vectors: "Mapping[NoteId, Vectors]") -> list[list[Evidence]]:
    """Group statements of a project that say the same, in the order of the notes. Their words match, or their vectors
    if they are whole notes. Numbers, dates, names and negations must agree."""
    kept = defaultdict[object, list[list[Evidence]]](list)
    for one in stated:
        alike = kept[one.note.project, facts(one.text)]
        near = (group for group in alike if say_the_same(group[0].text, one.text, _cosine(one, group[0], vectors)))
        group = next(near, None)
        if group is None:
            alike.append(group := [])
        group.append(one)
    return [group for alike in kept.values() for group in alike]


def _cosine(one: Evidence, other: Evidence, vectors: "Mapping[NoteId, Vectors]") -> float:
    first, second = vectors.get(one.note.id), vectors.get(other.note.id)
    return 0.0 if first is None or second is None else float(first @ second)


def _projects(claims: Sequence[Claim]) -> Iterator[Subject]:
    for name in sorted({one.project for one in claims if one.project}):
        yield Subject("projects", name, [one for one in claims if one.project == name])


def _named(claims: Sequence[Claim]) -> Iterator[Subject]:
    """Yield the people, services and tools that claims name. Most of the claims, at least two, must show the type."""
    table = read_table("mcp_memory.curation.claims", "names.toml")
    generic = set(table.pop("generic").split())
    bare = {id(one): _bare(one.text.removeprefix(f"{one.latest.note.title}: ")) for one in claims}
    about = defaultdict[str, dict[int, Claim]](dict)
    for one in claims:
        for word in _WORDS.findall(f"{one.latest.note.title} {bare[id(one)]}"):
            about[word][id(one)] = one
    names = set[str]()
    for one in claims:
        for fact in facts(bare[id(one)]) | facts(one.text):
            is_name = fact.kind is FactKind.NAME and fold(fact.key.lower()) not in GENERIC_WORDS
            is_tool = fact.kind is FactKind.IDENTIFIER and _CODE_WORD.fullmatch(fact.key)
            if (is_name and fact.key.lower() not in about) or is_tool:
                names.add(fact.key)
    for name in sorted(name for name in names - generic if len(about[name]) >= LEAST_MENTIONS):
        texts = [bare[one] for one in about[name]]
        cues = {folder: re.compile(cue.replace("NAME", re.escape(name))) for folder, cue in table.items()}
        votes = {folder: sum(bool(cue.search(text)) for text in texts) for folder, cue in cues.items()}
        folder = max(votes, key=lambda each: votes[each])
        if votes[folder] >= max(2, CUED * len(texts)) and len(set(votes.values())) > 1:
            yield Subject(folder, name, list(about[name].values()))


def _bare(text: str) -> str:
    return text.replace("`", "")


MOST_PAGES, MOST_UNSURE = 5000, 20


@dataclass(frozen=True)
class ClaimProblem:
    """A problem. `kind` is an open `conflict`; an `orphan`, which is a page that may contain forgotten text; a `stale`
    page, which you edited or which is due; or an `unsure` claim. `path` is the place to look at; `notes` are the quoted
    notes."""

    kind: str
    text: str
    path: NotePath
    why: str
    remedy: str
    notes: tuple[NoteId, ...] = ()


def find_unsure(base: ClaimBase) -> list[Claim]:
    """Return the uncertain claims, each text once."""
    unsure: dict[str, Claim] = {}
    for subject in base.subjects(Filters()):
        for one in subject.claims:
            if one.holds and one.confidence < UNSURE and len(unsure) < MOST_UNSURE:
                unsure.setdefault(one.text, one)
    return list(unsure.values())


def list_problems(
    vault: Vault, index: Index, base: ClaimBase, made: Mapping[NotePath, bytes] | None = None
) -> list[ClaimProblem]:
    """List the problems of all notes that may be shown. `made` are pages about to be written. Reads files and the
    index. Raises IndexUnavailable, StorageFailed."""
    found = list[ClaimProblem]()
    for one in base.claims(Filters()):
        if one.refuted_by and one.conflict:
            newer = one.refuted_by.note.id
            why = f"{one.conflict.why}; a newer note says: {one.refuted_by.text}"
            remedy = f"mcp-memory review --keep {shortened(newer) or newer}"
            found.append(
                ClaimProblem("conflict", one.text, one.latest.note.path, why, remedy, (one.latest.note.id, newer))
            )
    for one in find_unsure(base):
        note = one.latest.note
        remedy = f"mcp-memory wiki apply confirm {shortened(note.id) or note.id}"
        why = f"{one.confidence:.0%} sure: {one.why}, {one.since}"
        found.append(ClaimProblem("unsure", one.text, note.path, why, remedy, (note.id,)))
    in_home = vault.layout.in_home
    for page in index.notes(Filters(states=frozenset({NoteState.SUMMARY})), limit=MOST_PAGES):
        if page.path == in_home(CONTENTS) or page.path.startswith(f"{in_home(ENTITIES)}/"):
            is_ours, due = vault.filing.is_as_written(page), (made or {}).get(page.path)
            is_orphan = (not is_ours or made is None) and quotes_forgotten(vault.read(page.path).text, vault, index)
            if is_orphan:
                why = "rests on a note that is forgotten or gone"
                found.append(ClaimProblem("orphan", _name(page.path), page.path, why, _REMEDY[is_ours]))
            elif not is_ours and due is not None and etag_of(due) != page.etag:
                why = "you changed it, so it isn't kept up to date"
                found.append(ClaimProblem("stale", _name(page.path), page.path, why, _REMEDY[False]))
        elif page.meta.get("stale"):
            why = "its notes have changed since"
            found.append(ClaimProblem("stale", _name(page.path), page.path, why, "mcp-memory topics compact"))
    return sorted(found, key=lambda one: one.kind)


_REMEDY = {True: "mcp-memory topics organize", False: "delete it, then mcp-memory topics organize makes it anew"}


def _name(path: str) -> str:
    """The page's name without a title, because the title of a topic's page may quote a forgotten note."""
    return path
