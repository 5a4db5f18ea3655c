"""Reports links that are broken, ambiguous or outdated, and notes without links; repairs links."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.jobs.job import JobReport, JobTurn
from mcp_memory.links.earlier_places import trace
from mcp_memory.links.repair import BY_NAME, Repair, Repairer
from mcp_memory.models import Filters, NotePath, NoteRecord, NoteState, etag_of
from mcp_memory.runs.journal import RelinkStep
from mcp_memory.runs.journaled_runs import JournaledRuns
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.link_targets import redirected
from mcp_memory.text.markdown.note_links import HISTORY, OUTSIDE, ResolvedLink
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.vault import Vault

READ = frozenset({NoteState.ACTIVE, NoteState.ARCHIVED})
"""The states of notes whose links are checked. Pages are regenerated, and candidates wait for you."""
EVERY = 1_000_000
LINT_S = 300.0


@dataclass(frozen=True, slots=True)
class LinkFinding:
    """A faulty link. The fault is `broken`, `ambiguous`, `moved` (the link now leads to a different note), `forgotten`,
    `archived` or `superseded`."""

    kind: str
    at: ResolvedLink
    repair: Repair | None = None
    why: str = ""
    """The reason why the link isn't repaired."""


@dataclass(frozen=True, slots=True)
class Linter:
    vault: Vault
    index: Index
    runs: JournaledRuns

    async def lint(self, *, fix: bool = False, personal: bool = False, orphans: bool = False) -> dict[str, Any]:
        """Return the findings with their proposed repairs. With `fix`, repair our own notes, and `personal` notes too
        if you ask for it, and return the remaining findings. Raises like `JournaledRuns.relocate`."""
        notes, findings = await in_thread(self._look, what="checking links", deadline_s=LINT_S)
        read = partial(self._steps, [one for one in findings if one.repair], personal=personal)
        steps, left = await in_thread(read, what="reading notes", deadline_s=LINT_S)
        alone = await in_thread(self._orphans, notes, what="looking for orphans", deadline_s=LINT_S)
        answer: dict[str, Any] = {
            "notes": len(notes),
            "found": [_payload(one, left.get(one.at.source, "")) for one in findings],
            "orphans": [{"id": one.id, "path": one.path, "title": one.title} for one in alone] if orphans else None,
            "orphan_count": len(alone),
            "properties": [
                {"path": path, "property": written, "nearly": ours}
                for path, note in sorted(notes.items())
                for written, ours in note.meta.get("slips", {}).items()
            ],
        }
        if fix and steps:
            report = await self.runs.relocate(steps, "links repaired")
            done = {step.path for step in steps if step.path in report.done}
            answer["found"] = [one for one in answer["found"] if not (one["repair"] and one["path"] in done)]
            repaired = sum(len(step.redirects) for step in steps if step.path in done)
            answer |= {"run": report.run, "repaired": repaired, "left": report.left}
        return answer

    async def follow_moves(self, _: JobTurn) -> JobReport | None:
        """Repair the links in our own notes that broke when you or another program moved notes."""
        found = (await in_thread(self._look, what="checking links", deadline_s=LINT_S))[1]
        certain = [one for one in found if one.repair and one.repair.how != BY_NAME]
        read = partial(self._steps, certain, personal=False)
        steps = (await in_thread(read, what="reading notes", deadline_s=LINT_S))[0]
        report = await self.runs.relocate_in_background(steps, "links repaired") if steps else None
        if report is None or not report.done:
            return None
        count = sum(len(step.redirects) for step in steps if step.path in report.done)
        return JobReport(f"{counted(count, 'link')} repaired", report.done, {"repaired": count})

    def _look(self) -> tuple[dict[NotePath, NoteRecord], list[LinkFinding]]:
        notes = {note.path: note for note in self.index.notes(Filters(states=frozenset(NoteState)), EVERY)}
        ids = {note.id: note.path for note in notes.values() if not note.id.startswith("path:")}
        places = trace(reversed(self.vault.changes.changes()), notes.keys(), ids)
        repairer = Repairer(self.index, notes, places, self.vault.ledger.ids_at)
        links = [one for one in self.index.links_from() if notes[one.source].state in READ and one.source[0] != "@"]
        return notes, [finding for one in links if (finding := _judge(one, notes, repairer.find(one)))]

    def _steps(
        self, findings: Iterable[LinkFinding], *, personal: bool
    ) -> tuple[list[RelinkStep], dict[NotePath, str]]:
        """Return the repairs to write, and for each file that isn't repaired the reason."""
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

    def _orphans(self, notes: dict[NotePath, NoteRecord]) -> list[NoteRecord]:
        linked = set[NotePath]()
        for one in self.index.links_from():
            if notes.get(one.source) and notes[one.source].state is not NoteState.SUMMARY:
                linked |= {one.source, *one.targets} if set(one.targets) - {one.source} else set()
        return [
            note
            for path, note in sorted(notes.items())
            if note.state is NoteState.ACTIVE and path not in linked and path[0] != "@" and not note.is_log
        ]


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
    kind = "superseded" if note.superseded_at else {"deleted": "forgotten", "archived": "archived"}.get(note.state)
    return LinkFinding(kind, one) if kind and notes[one.source].state is NoteState.ACTIVE else None


def _payload(one: LinkFinding, left: str) -> dict[str, Any]:
    link, repair = one.at.link, one.repair
    facts = {"kind": one.kind, "path": one.at.source, "line": link.line, "type": link.type, "target": link.target}
    return facts | {
        "leads_to": list(one.at.targets[:10]), "repair": asdict(repair) if repair else None, "why": one.why or left,
    }  # fmt: skip
