"""Reports links that are broken, ambiguous or outdated, and repairs them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import NamedTuple

from mcp_memory.core.serializers import Payload
from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.jobs.job import JobReport, JobTurn
from mcp_memory.links.earlier_places import Whereabouts, trace
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState, etag_of
from mcp_memory.runs.journal import RelinkStep
from mcp_memory.runs.journaled_runs import JournaledRuns
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.link_targets import redirected, retargeted
from mcp_memory.text.markdown.note_links import (
    HISTORY,
    OUTSIDE,
    REPLACES,
    NoteLink,
    ResolvedLink,
    fold,
    key_of,
    names_of,
)
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.vault import Vault

GENERIC = frozenset({"readme", "index", "_summary", "changelog", "license", "home", "todo"})
"""Names that don't identify a note."""
BY_NAME = "name"


@dataclass(frozen=True)
class Repair:
    """A repair. `target` is the text to write; `how` is the evidence for the note: its id, content or name."""

    to: NotePath
    target: str
    how: str


class Repairer:
    def __init__(
        self,
        index: Index,
        notes: Mapping[NotePath, NoteRecord],
        places: Whereabouts,
        ids_at: Callable[[NotePath], Collection[NoteId]],
    ) -> None:
        """Create a repairer. `ids_at` returns the ids of notes that we once put at a path."""
        self._index, self._notes, self._places, self._ids_at = index, notes, places, ids_at
        self._places_named, self._removed = defaultdict[str, set[NotePath]](set), set[str]()
        for place in places.went:
            for name in names_of(place, "path:", "", ()):
                self._places_named[name].add(place)
        for place in places.removed:
            self._removed |= names_of(place, "path:", "", ()).keys()

    def find(self, one: ResolvedLink) -> Repair | str | None:
        """Return the repair of a link, the reason why it can't be repaired, or None if it is intact."""
        link, places = one.link, self._places
        written = max(places.written.get(one.source, -1), places.unknown)
        then = next((place for left, place in places.came.get(one.source, ()) if left > written), one.source)
        meant = self._moved(one, then, written) or self._there(link, then, one.source)
        if one.targets:
            is_taken = len(one.targets) == 1 and (
                then != one.source or places.arrived.get(one.targets[0], -1) > written
            )
            if len(meant) != 1 or not is_taken or meant == set(one.targets):
                return None
            return self._repair(one, meant.pop())
        if not meant:
            for place in (one.source, *(place for _, place in places.came.get(one.source, ()))):
                meant |= self._left(link, place) | self._there(link, place, one.source)
        if not meant and link.key.startswith("/"):
            found = [self._index.note_by_id(note_id) for note_id in self._ids_at(NotePath(link.key[1:]))]
            meant = {note.path for notes in found for note in notes}
        if not meant and link.key in self._removed:
            return "its note was removed"
        by_name = not meant
        meant = meant or self._with_name(link)
        if by_name or link.type in HISTORY:
            meant -= {one.source}  # a note doesn't link to itself, so another note has the name
        if len(meant) != 1:
            return (
                f"{len(meant)} notes may be meant: {', '.join(sorted(meant)[:3])}" if meant else "no note has its name"
            )
        return self._repair(one, meant.pop(), BY_NAME if by_name else "")

    def _moved(self, one: ResolvedLink, path: NotePath, written: int) -> set[NotePath]:
        """Return the current places of notes that left the link's target since the text was last changed. Include notes
        that left before, in case the link is older than the rest of the text."""
        meant, made = set[NotePath](), self._places.made.get(one.source, -1)
        for place in self._places_named.get(key_of(one.link.kind, one.link.target, path) or "", ()):
            stays = self._places.went[place]
            if first := next((now for left, now in stays if left > written), None):
                meant |= {first, *(now for left, now in stays if made < left <= written)}
        return meant

    def _left(self, link: NoteLink, path: NotePath) -> set[NotePath]:
        """Return the current places of all notes that the link is known to have led to."""
        old = self._places_named.get(key_of(link.kind, link.target, path) or "", ())
        return {now for place in old for _, now in self._places.went[place]}

    def _there(self, link: NoteLink, path: NotePath, source: NotePath) -> set[NotePath]:
        """Return the notes that the link leads to from an earlier place of its own note."""
        key = key_of(link.kind, link.target, path) if path != source else None
        return set(self._index.named(key)) if key else set()

    def _with_name(self, link: NoteLink) -> set[NotePath]:
        name = fold(link.key.rpartition("/")[2].removesuffix(".md"))
        is_vague = "/" not in link.key or link.key.startswith(f"/{OUTSIDE}") or name in GENERIC
        found = [] if is_vague else self._index.named(name)
        return {path for path in found if fold(path.rpartition("/")[2].removesuffix(".md")) == name}

    def _repair(self, one: ResolvedLink, to: NotePath, how: str = "") -> Repair | str:
        link, note = one.link, self._notes.get(to)
        if note is None or note.state is NoteState.DELETED:
            return "its note was forgotten"

        def leads(target: str) -> bool:
            key = key_of(link.kind, target, one.source)
            return key is not None and self._index.named(key) == [to]

        target = retargeted(link.kind, link.target, one.source, to, leads)
        if target is None:
            return f"no link of this form can name {to}"
        return Repair(to, target, how or ("content" if note.id.startswith("path:") else "id"))


READ = frozenset({NoteState.ACTIVE, NoteState.ARCHIVED, NoteState.REPLACED})
"""The states of notes whose links are checked. Pages are regenerated, and candidates wait for you."""
EVERY = 1_000_000
LINT_S = 300.0


class LinkFinding(NamedTuple):
    """A faulty link. The fault is `broken`, `ambiguous`, `moved` (the link now leads to a different note), `forgotten`,
    `archived`, `superseded`, or `active` although the link says that it is replaced."""

    kind: str
    at: ResolvedLink
    repair: Repair | None = None
    why: str = ""
    """The reason why the link isn't repaired."""


@dataclass(frozen=True)
class Linter:
    vault: Vault
    index: Index
    runs: JournaledRuns

    async def lint(self, *, fix: bool = False, personal: bool = False) -> Payload:
        """Return the findings with their proposed repairs. With `fix`, repair our own notes, and `personal` notes too
        if you ask for it, and return the remaining findings. Raises like `JournaledRuns.relocate`."""
        examine = partial(self._examine, personal=personal)
        notes, findings, steps, left = await in_thread(examine, what="checking links", deadline_s=LINT_S)
        answer: Payload = {
            "notes": len(notes),
            "found": [_payload(one, left.get(one.at.source, "")) for one in findings],
        }
        if fix and steps:
            report = await self.runs.relocate([[step] for step in steps], "links repaired")
            done = {step.path for step in steps if step.path in report.done}
            answer["found"] = [one for one in answer["found"] if not (one["repair"] and one["path"] in done)]
            count = sum(len(step.redirects) for step in steps if step.path in done)
            answer |= {"run": report.run, "repaired": count, "left": report.left}
        return answer

    async def follow_moves(self, _: JobTurn) -> JobReport | None:
        """Repair the links in our own notes that broke when you or another program moved notes."""
        examine = partial(self._examine, personal=False, by_name=False)
        steps = (await in_thread(examine, what="checking links", deadline_s=LINT_S))[2]
        report = await self.runs.relocate_in_background([[step] for step in steps], "links repaired") if steps else None
        if report is None or not report.done:
            return None
        count = sum(len(step.redirects) for step in steps if step.path in report.done)
        return JobReport(f"{counted(count, 'link')} repaired", report.done, {"repaired": count})

    def _examine(
        self, *, personal: bool, by_name: bool = True
    ) -> tuple[dict[NotePath, NoteRecord], list[LinkFinding], list[RelinkStep], dict[NotePath, str]]:
        """Return the notes, the findings, the repairs to write, and for each file that isn't repaired the reason."""
        notes = {note.path: note for note in self.index.notes(Filters(states=frozenset(NoteState)), EVERY)}
        ids = {note.id: note.path for note in notes.values() if not note.id.startswith("path:")}
        places = trace(reversed(self.vault.changes.changes()), notes.keys(), ids)
        repairer = Repairer(self.index, notes, places, self.vault.ledger.ids_at)
        links = [one for one in self.index.links_from() if notes[one.source].state in READ and one.source[0] != "@"]
        found = [finding for one in links if (finding := _judge(one, notes, repairer.find(one)))]
        certain = [one for one in found if one.repair and (by_name or one.repair.how != BY_NAME)]
        return notes, found, *self._steps(certain, personal=personal)

    def _steps(
        self, findings: Iterable[LinkFinding], *, personal: bool
    ) -> tuple[list[RelinkStep], dict[NotePath, str]]:
        steps, left, files = list[RelinkStep](), dict[NotePath, str](), dict[NotePath, list[LinkFinding]]()
        for one in findings:
            files.setdefault(one.at.source, []).append(one)
        for path, found in files.items():
            try:
                file = self.vault.read(path)
            except McpMemoryError as error:
                left[path] = error.message
                continue
            is_ours = self.vault.filing.owns(file)
            new = [(one.at.link.at, one.at.link.target, one.repair.target) for one in found if one.repair]
            try:
                after = redirected(file.text, sorted(new))
            except ValueError:
                left[path] = "the note has just changed"
                continue
            if not is_ours and not self.vault.filing.may_relink(file):
                left[path] = "an entry's id is made from its text" if not file.record.problem else file.record.problem
            elif not is_ours and not personal:
                left[path] = "a personal note: pass --personal"
            elif frontmatter.parse(after).problem:
                left[path] = "the new name can't be written in a property"
            else:
                hashes = etag_of(file.text.encode()), etag_of(after.encode())
                ids = [
                    file.record.id,
                    *(note.id for one in found if one.repair and (note := self.index.note(one.repair.to))),
                ]
                step = RelinkStep(path, *hashes, sorted(new), is_whole=True, is_personal=not is_ours, notes=ids)
                steps.append(step)
        return steps, left


def _judge(one: ResolvedLink, notes: dict[NotePath, NoteRecord], repair: Repair | str | None) -> LinkFinding | None:
    found, why = (repair, "") if isinstance(repair, Repair) else (None, repair or "")
    if not one.targets:  # a link out of the vault may lead to a file beside the vault
        is_outside = found is None and one.link.key.startswith(f"/{OUTSIDE}")
        return None if is_outside else LinkFinding("broken", one, found, why)
    if len(one.targets) > 1:
        return LinkFinding("ambiguous", one, None, f"{len(one.targets)} notes have this name")
    if repair is not None:
        return LinkFinding("moved", one, found, why)
    note = notes.get(next(iter(one.targets)))
    if note is None or one.link.type in HISTORY:
        return None
    if one.link.type == REPLACES:
        is_active = note.state is notes[one.source].state is NoteState.ACTIVE
        return LinkFinding("active", one, None, f"to retire it: mcp-memory forget {note.path}") if is_active else None
    kind = "superseded" if note.superseded_at else {"deleted": "forgotten", "archived": "archived"}.get(note.state)
    return LinkFinding(kind, one) if kind and notes[one.source].state is NoteState.ACTIVE else None


def _payload(one: LinkFinding, left: str) -> Payload:
    link, repair = one.at.link, one.repair
    facts = {"kind": one.kind, "path": one.at.source, "line": link.line, "type": link.type, "target": link.target}
    return facts | {
        "leads_to": list(one.at.targets[:10]), "repair": asdict(repair) if repair else None, "why": one.why or left,
    }  # fmt: skip
