"""Collects the claims that notes make now, and their subjects.

Nothing is stored, so a forgotten, private or muted note disappears from the claims at the next question.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

from mcp_memory.comparison.comparison import say_the_same
from mcp_memory.curation.claims.claim import Claim, Evidence, Subject
from mcp_memory.curation.claims.earlier import Newer, find_newer, newest_first
from mcp_memory.curation.claims.statements import statements, without_doubts
from mcp_memory.curation.claims.subjects import Name, find_mentions, find_names, has_subject
from mcp_memory.index.base import Index
from mcp_memory.models import Clock, Conflict, Filters, NoteId, Passage
from mcp_memory.recall.note_list import date_of, newest_notes
from mcp_memory.statements.candidate import StatementKind
from mcp_memory.text.language.facts import facts
from mcp_memory.text.language.terms import content_words, words
from mcp_memory.vault.succession.entry_marks import is_private

MOST_NOTES = 5000
"""The number of newest notes that are read."""
MOST_INHERITED = 4
"""The most statements of a note that are all about the subject of the first."""


@dataclass
class ClaimBase:
    """A thread-safe collection of claims, for worker threads. It is read again only if the index has changed, which
    takes about a second of CPU for a thousand notes. `wanted` decides which notes may be shown."""

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
        conflicts = tuple(one for one in self.index.conflicts() if not one.is_double)
        key = self.index.watermark(), wanted.now and wanted.now.date(), conflicts
        if self._known[0] != key:
            stated = list(self._statements(wanted))
            names = find_names(stated)
            found = _claims(list(_attributed(stated, names)), conflicts)
            self._known = key, found, list(_subjects(found, names))
        return self._known[1]

    def _statements(self, wanted: Filters) -> Iterator[Evidence]:
        """Yield the statements of notes and log entries."""
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
                stated = without_doubts(note.title, statements(note, passages))[:most]
                for place, one in enumerate(stated):
                    yield one._replace(place=place, total=len(stated))


def _claims(stated: Sequence[Evidence], conflicts: Sequence[Conflict]) -> list[Claim]:
    """Return the claims. A statement that a newer note contradicts is one that no longer holds."""
    notes, replaced = defaultdict[NoteId, list[Evidence]](list), defaultdict[int, list[Evidence]](list)
    for one in stated:
        notes[one.note.id].append(one)
    outdated: dict[int, Claim] = {}
    for known in conflicts:
        older, newer = notes[known.older], notes[known.newer]
        before = known.before.removesuffix(" …").strip() if known.is_certain else ""
        by = next(iter(_with_value(newer, known.after or "")), None)
        for one in _with_value(older, before):
            outdated[id(one)] = Claim((one,), outdated=before or one.text, replaced_by=by, conflict=known)
            replaced[id(by)].append(one)
    claims = list(outdated.values())
    for group in _grouped([one for one in stated if id(one) not in outdated]):
        older = [other for one in group for other in replaced[id(one)]]
        claims.append(Claim(tuple(group), tuple(older)))
    return sorted(claims, key=lambda one: date_of(one.latest.note), reverse=True)


def _with_value(stated: Sequence[Evidence], value: str) -> Sequence[Evidence]:
    """Return the statements with a value, or all if there is none."""
    return [one for one in stated if value in one.text.replace("`", "")] or stated


def admitted(claims: Iterable[Claim], filters: Filters) -> list[Claim]:
    """Return the claims that have admitted evidence, without their other evidence."""

    def told(found: Iterable[Evidence | None]) -> tuple[Evidence, ...]:
        return tuple(one for one in found if one and filters.admits(one.note))

    shown = (
        replace(
            one, evidence=told(one.evidence), earlier=told(one.earlier),
            replaced_by=next(iter(told([one.replaced_by])), None),
        )
        for one in claims
    )  # fmt: skip
    return [one for one in shown if one.evidence]


def _attributed(stated: Sequence[Evidence], names: Sequence[Name]) -> Iterator[Evidence]:
    """Give statements that name nothing the subject of their note's first statement or title."""
    near = defaultdict[int, list[Name]](list)
    for name, places in find_mentions(names, [f"{one.note.title}\n{one.said}" for one in stated]):
        for place in places:
            near[place].append(name)
    subject = ""
    for place, one in enumerate(stated):
        if one.place == 0:
            texts = one.said, one.note.title, one.note.title.title()
            subject = next((name.text for text in texts for name in near[place] if name.begins(text)), "")
        is_named = any(name.pattern.search(one.said) for name in near[place])
        if not subject or is_named or one.total > MOST_INHERITED or has_subject(one):
            yield one
        else:
            yield one._replace(subject=subject)


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


def _subjects(claims: Sequence[Claim], names: Iterable[Name]) -> Iterator[Subject]:
    for project in sorted({one.project for one in claims if one.project}):
        yield Subject("projects", project, [one for one in claims if one.project == project])
    about, newer = list[tuple[Name, list[Claim], dict[int, Newer]]](), dict[int, Newer]()
    for name, places in find_mentions(names, [one.text for one in claims]):
        own = {*words(name.text)}
        if told := [claims[place] for place in places if {*words(claims[place].text)} - own]:
            about.append((name, told, find_newer(told, name)))
            newer |= about[-1][2]
    for name, told, own_newer in about:
        yield Subject(name.folder, name.text, newest_first(told, newer | own_newer, name))
