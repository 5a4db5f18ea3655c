"""Keeps the code references of each note and log entry with their outcome, and checks them in the background."""

import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, time, timedelta
from pathlib import Path
from threading import Lock
from time import monotonic

from mcp_memory.core.serializers import Payload
from mcp_memory.errors import GitUnavailable, NotFound
from mcp_memory.grounding.code_repository import CodeRepository, open_code
from mcp_memory.grounding.references import CHANGED, GONE, MOVED, Reference, check, find_references, ground
from mcp_memory.index.base import Index
from mcp_memory.jobs.job import JobReport, JobTurn
from mcp_memory.models import Clock, Filters, NoteId, NotePath, NoteRecord, is_closed
from mcp_memory.projects.projects import Projects
from mcp_memory.runtime.private_files import replace_file
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.markdown.logs import labels
from mcp_memory.text.parsed_values import list_at, table_at
from mcp_memory.text.pluralize import counted
from mcp_memory.text.text_hash import text_hash

MOST_NOTES, MOST_FOLDERS, MOST_REMARKS = 100_000, 4, 2
REPOSITORY_S, RUN_S = 60.0, 300.0
NO_FOLDER = "no folder of it is known: in its repository run mcp-memory links --code --check"
FOLDER_GONE = "its folder is gone"
TOO_SLOW = "reading its files took too long: the rest of its notes are checked in the next run"
NOT_YET = "its repository is known now, but not looked at yet: mcp-memory links --code --check"
"""The time limits of one repository and of one run; unchecked notes of a repository wait for the next run."""

_WORST = (GONE, CHANGED, MOVED)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GroundedNote:
    """A note or log entry; `words` is the hash of the text that contained the references."""

    id: NoteId
    path: NotePath
    project: str
    words: str
    references: tuple[Reference, ...] = ()

    def is_at(self, path: NotePath, entry: str | None) -> bool:
        return self.path == path and (not entry or self.id.endswith(f"#{entry}"))

    @property
    def remark(self) -> str:
        places = {(one.path, one.symbol, one.commit * (not one.path)): one for one in reversed(self.references)}
        told = sorted(filter(lambda one: one.remark, places.values()), key=lambda one: _WORST.index(one.outcome))
        shown = (one.remark if len(places) == 1 else f"{one.text}: {one.remark}" for one in told[:MOST_REMARKS])
        return "; ".join(shown)


def count_outcomes(notes: Iterable[GroundedNote]) -> dict[str, int]:
    outcomes = [one.outcome for note in notes for one in note.references]
    return {"references": len(outcomes)} | {name: outcomes.count(name) for name in sorted({*outcomes})}


def _payload(note: GroundedNote) -> Payload:
    references = [asdict(one) | {"outcome": one.outcome, "remark": one.remark} for one in note.references]
    facts = {"id": note.id, "path": note.path, "project": note.project, "remark": note.remark}
    return {**facts, "refs": references}


@dataclass
class Grounder:
    """Grounds notes in repositories. `file` stores the state."""

    index: Index
    file: Path
    projects: Projects
    clock: Clock
    problems: Mapping[str, str] = field(default_factory=dict[str, str])
    """The reason why a project's notes were not checked in the last run."""

    def __post_init__(self) -> None:
        self._folders: dict[str, list[str]] = {}
        self._notes: dict[NoteId, GroundedNote] = {}
        self._checking = Lock()

    def remark(self, note_id: NoteId) -> str:
        """Describe what changed in the code that a note or entry names, as of the last run. Reads only memory."""
        found = self._notes.get(note_id)
        return found.remark if found else ""

    def note_folder(self, project: str, folder: str) -> None:
        """Remember a folder in which an agent or a person works for the project, to find its repository."""
        known = self._folders.get(project, [])
        if known[:1] != [folder]:
            self._folders[project] = [folder, *(one for one in known if one != folder)][:MOST_FOLDERS]
            if self.problems.get(project) in {NO_FOLDER, FOLDER_GONE}:
                self.problems = {**self.problems, project: NOT_YET}

    def forget(self, path: NotePath, entry: str | None) -> None:
        """Drop the references of a note, or of one log entry. Raises OSError."""
        if gone := {one.id for one in self._notes.values() if one.is_at(path, entry)}:
            self._notes = {name: note for name, note in self._notes.items() if name not in gone}
            self._save()

    async def run(self, _: JobTurn) -> JobReport | None:
        before = count_outcomes(self.notes())
        await self.check()
        figures = count_outcomes(self.notes())
        stale = {name: figures.get(name, 0) for name in (GONE, CHANGED)}
        about = f"{stale[CHANGED]} changed and {stale[GONE]} gone of {counted(figures['references'], 'reference')}"
        return JobReport(about, figures=figures) if figures != before else None

    async def check(self, confirmed: Collection[NoteId] = ()) -> None:
        """Check the notes and repositories that have changed since the last run. `confirmed` notes match the code as it
        is now."""
        await in_thread(self._check, confirmed, deadline_s=RUN_S + REPOSITORY_S, what="comparing notes with code")

    def notes(self, place: tuple[NotePath, str | None] | None = None) -> list[GroundedNote]:
        """Return the notes that name code, by path; with `place`, only that note or log entry."""
        found = (one for one in self._notes.values() if one.references and (not place or one.is_at(*place)))
        return sorted(found, key=lambda one: (one.path, one.id))

    def answer(self, place: tuple[NotePath, str | None] | None, project: str | None) -> Payload:
        """Return each note with its references: their text, current place and outcome. Raises NotFound."""
        if place and self.index.note(place[0]) is None:
            raise NotFound(f"{place[0]} is not one of the vault's notes", hint="memory_search finds notes")
        label_of = self.projects.label_named
        found = [note for note in self.notes(place) if project is None or label_of(project) == label_of(note.project)]
        return {"notes": list(map(_payload, found)), "counts": count_outcomes(found), "problems": dict(self.problems)}

    def _check(self, confirmed: Collection[NoteId]) -> None:
        with self._checking:
            until, problems = monotonic() + RUN_S, dict[str, str]()
            records = self.index.notes(Filters(), MOST_NOTES)
            found = [one for record in records for one in self._entries(record)]
            notes, projects = dict[NoteId, GroundedNote](), sorted({project for _, project, _ in found})
            for project in projects:
                mine = [(record, entry, text) for (record, entry), of, text in found if of == project]
                known = {entry: old for _, entry, _ in mine if (old := self._notes.get(entry))}
                notes |= known
                ends = min(until, monotonic() + REPOSITORY_S)
                code = self._open(project, problems) if monotonic() < until else None
                try:
                    for record, entry, text in mine if code else ():
                        assert code is not None
                        if monotonic() > ends:
                            problems[project] = TOO_SLOW
                            break
                        old = None if entry in confirmed else known.get(entry)
                        notes[entry] = self._checked(code, record, entry, text, old, is_now=entry in confirmed)
                except GitUnavailable as error:
                    problems[project] = error.message
            self._notes, self.problems = notes, problems
            self._save()

    def _entries(self, record: NoteRecord) -> Iterator[tuple[tuple[NoteRecord, NoteId], str, str]]:
        """Yield each note or log entry of a project, with its text."""
        texts = dict[tuple[NoteId, str], list[str]]()
        if record.is_log or (record.project and not is_closed(record.project)):
            for one in self.index.passages(record.path):
                project = labels(one.chunk.headings).project if record.is_log else record.project
                if project and not is_closed(project):
                    label = self.projects.names_of(project)[0]
                    texts.setdefault((one.shown_id, label), []).append(one.chunk.text)
        for (entry, project), parts in texts.items():
            yield (record, entry), project, "\n".join(parts)

    def _checked(
        self, code: CodeRepository, record: NoteRecord, entry: NoteId, text: str, old: GroundedNote | None,
        *, is_now: bool,
    ) -> GroundedNote:  # fmt: skip
        """Ground a note, or check its known references.

        A note written or changed on an earlier day is grounded in the last commit of that day, which its author saw.
        References missing from that commit, and notes of today, are grounded in the working tree."""
        listed = [str(one) for one in list_at(record.meta, "refs")]
        words = text_hash("\0".join([text, *listed]), 16)
        if old and old.words == words:
            return replace(old, path=record.path, references=tuple(check(one, code) for one in old.references))
        named = find_references(text.replace(f"{code.top}/", ""), listed)
        written = record.date
        commit = None
        if named and written and not is_now and written.date() < self.clock().date():
            commit = code.commit_before(
                (datetime.combine(written.date(), time(), written.tzinfo) + timedelta(1)).isoformat()
            )
        grounded = {one: ground(one, code.snapshot(commit)) for one in named}
        if commit:
            grounded |= {one: ground(one, code.snapshot(None)) for one, there in grounded.items() if not there}
        found = dict.fromkeys(check(one, code) for one in grounded.values() if one)
        return GroundedNote(entry, record.path, record.project or "", words, tuple(found))

    def _open(self, project: str, problems: dict[str, str]) -> CodeRepository | None:
        folders = self._folders.get(project, [])
        problems[project] = FOLDER_GONE if folders else NO_FOLDER
        for folder in folders:
            if Path(folder).is_dir() and self.projects.label_of(folder) == project:
                try:
                    code = open_code(folder, REPOSITORY_S)
                except (GitUnavailable, NotFound) as error:
                    problems[project] = error.message
                else:
                    problems.pop(project)
                    return code
        return None

    def load(self) -> None:
        """Load the state. A damaged file, or a file of another version, is ignored: the notes are grounded anew."""
        try:
            state = json.loads(self.file.read_bytes())
            self._folders = {project: list_at(state, "folders", project) for project in table_at(state, "folders")}
            for note in list_at(state, "grounded"):
                references = tuple(Reference(**one) for one in note.pop("references"))
                self._notes[note["id"]] = GroundedNote(**note, references=references)
        except FileNotFoundError:
            pass
        except (ValueError, TypeError, KeyError, AttributeError):
            log.warning("grounding: %s cannot be used", self.file.name)
            self._folders, self._notes = {}, {}

    def _save(self) -> None:
        notes = [asdict(one) for one in self._notes.values()]
        state: Payload = {"folders": self._folders, "grounded": notes}
        replace_file(self.file, json.dumps(state).encode())
