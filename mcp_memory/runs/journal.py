"""Records compaction runs: each job is on disk with all its steps before it touches a file.

There is a file per run with a JSON object per line. Steps contain everything that they write. The next start can
therefore finish an interrupted job from its file, and a finished run can be undone as long as its file is kept.
"""

import re
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, get_args

from mcp_memory.errors import NotFound, StorageFailed
from mcp_memory.models import NoteId, NotePath
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.runtime.private_files import make_private, naming_the_cause
from mcp_memory.text.markdown.link_targets import Redirect
from mcp_memory.topics.page_parts import Parts


@dataclass(frozen=True)
class MoveStep:
    """Moves a note or a topic's page to another folder."""

    id: NoteId
    source: NotePath
    target: NotePath


@dataclass(frozen=True)
class RelinkStep:
    """Rewrites link targets in a body, in order. `before` and `after` are hashes of only the body, because the
    frontmatter may change meanwhile; with `is_whole`, of the whole text. `is_personal`: you allowed the step to change
    a note that we don't own. `notes` are the ids of this note and of the notes that the links lead to."""

    path: NotePath
    before: str
    after: str
    redirects: Sequence[Redirect]
    is_whole: bool = False
    is_personal: bool = False
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class WriteStep:
    """Writes a page. `before` is its old text, None for a new page. `parts` are the parts of a topic's page as we made
    it, without your own text."""

    path: NotePath
    text: str
    before: str | None = None
    parts: Parts | None = None


@dataclass(frozen=True)
class RemoveStep:
    """Removes a page with this text."""

    path: NotePath
    text: str


Step = MoveStep | RelinkStep | WriteStep | RemoveStep

_KINDS: Mapping[str, type[Step]] = {
    kind.__name__.lower(): kind for kind in (MoveStep, RelinkStep, WriteStep, RemoveStep)
}


_NAME = re.compile(r"([0-9]{8}T[0-9]{6})(?:-([0-9]{1,9}))?")
_ID = re.compile(r"^id: (\S+)$", re.MULTILINE)

KEPT_RUNS = 100
"""The number of latest runs that are kept; older runs can't be undone."""


JobOutcome = Literal["announced", "done", "aborted", "undone"]
"""The outcome of a job. `aborted`: the job was given up before its first step, because a source had changed."""


@dataclass(frozen=True)
class JobEntry:
    """A job of a run."""

    about: str
    """A line for people, with titles and counts but no text of a note."""
    steps: Sequence[Step]
    outcome: JobOutcome = "announced"
    problem: str = ""
    """The reason why the page is provisional; not stored."""
    key: str = field(default_factory=partial(token_hex, 8))
    """The job's name in the file of its run."""

    @property
    def page(self) -> NotePath:
        """The last page that the job writes."""
        return next(step.path for step in reversed(self.steps) if isinstance(step, WriteStep))


class RunJournal:
    """The runs of a vault on this device. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hold = folder / "held"
        self._lock = threading.Lock()

    def list_runs(self) -> list[str]:
        """Return the names of all runs, oldest first."""
        try:
            names = [file.stem for file in self._folder.glob("*.jsonl") if file.is_file()]
        except OSError:
            return []
        return sorted(names, key=lambda name: (_order(name), name))

    def new_run_name(self, now: datetime) -> str:
        """Return a name for a new run that sorts after all others, even if the clock was set back."""
        name = f"{now:%Y%m%dT%H%M%S}"
        latest, number = max(map(_order, self.list_runs()), default=("", 0))
        return name if name > latest else f"{latest}-{number + 1}"

    def read_run(self, run: str) -> list[JobEntry]:
        """Return a run's jobs in order. An incomplete line after a crash is skipped, since its job never began. Raises
        NotFound."""
        if run not in self.list_runs():
            raise NotFound(f"no run {run[:40]!r}", hint=f"the latest: {', '.join(self.list_runs()[-3:]) or 'none'}")
        return self._read(run)

    def _read(self, run: str) -> list[JobEntry]:
        found: dict[str, JobEntry] = {}
        for values in JsonLines(self._file(run)).read():
            try:
                key = values["key"]
                if "steps" in values:
                    steps = [_KINDS[kind](**step) for item in values["steps"] for kind, step in item.items()]
                    found[key] = JobEntry(values["about"], steps, key=key)
                elif values["outcome"] in get_args(JobOutcome):
                    found[key] = replace(found[key], outcome=values["outcome"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        return list(found.values())

    def undoable(self, among: Collection[str]) -> set[str]:
        """Return those of these runs that have a job that isn't undone yet, or that can't be read now: their undo says
        why."""
        return {run for run in {*self.list_runs()} & {*among} if self._may_undo(run)}

    def _may_undo(self, run: str) -> bool:
        try:
            entries = self._read(run)
        except StorageFailed:
            return True
        return any(entry.outcome in {"done", "announced"} for entry in entries)

    def read_all_runs(self) -> list[tuple[str, list[JobEntry]]]:
        """Return all runs with their jobs, oldest first."""
        return [(run, self.read_run(run)) for run in self.list_runs()]

    def pages_written(self, run: str) -> set[NoteId]:
        """Return the ids of pages that a run wrote; empty for a run without changes."""
        entries = self.read_run(run) if run in self.list_runs() else []
        texts = [step.text for entry in entries for step in entry.steps if isinstance(step, WriteStep)]
        return {NoteId(page_id) for text in texts if (page_id := _id_of(text))}

    def unfinished_jobs(self) -> list[tuple[str, JobEntry]]:
        """Return jobs that began but haven't ended, with their runs."""
        runs = self.read_all_runs()
        return [(run, entry) for run, entries in runs for entry in entries if entry.outcome == "announced"]

    def begin_job(self, run: str, entry: JobEntry) -> None:
        """Record the start of a job before its first step. Raises StorageFailed; then the job must not run."""
        steps = [{type(step).__name__.lower(): asdict(step)} for step in entry.steps]
        self._append(run, {"key": entry.key, "about": entry.about, "steps": steps})

    def end_job(self, run: str, key: str, outcome: JobOutcome) -> None:
        """Record the end of a job. Raises StorageFailed; then the next start repeats the job's steps, which changes
        nothing."""
        self._append(run, {"key": key, "outcome": outcome})

    def runs_mentioning(self, ids: Collection[NoteId]) -> list[str]:
        """Return the runs that may contain words of these notes: runs that moved such a note, wrote a page from it, or
        wrote a page from such a page."""
        runs = dict(self.read_all_runs())
        jobs = [entry for entries in runs.values() for entry in entries]
        steps = [step for entry in jobs for step in entry.steps]
        pages = [step.text for step in steps if isinstance(step, WriteStep | RemoveStep)]
        known: set[str] = set(ids)
        while more := {page_id for text in pages if _contains(text, known) and (page_id := _id_of(text))} - known:
            known |= more
        return [
            run
            for run, entries in runs.items()
            if any(_contains(_text_of(step), known) for entry in entries for step in entry.steps)
        ]

    def delete_runs(self, runs: Iterable[str]) -> None:
        """Delete the files of these runs. Raises StorageFailed."""
        with self._lock, naming_the_cause(str(self._folder)):
            for run in runs:
                self._file(run).unlink(missing_ok=True)

    @property
    def is_held(self) -> bool:
        """Return whether you undid a run and haven't asked for another since."""
        return self._hold.exists()

    def hold(self) -> None:
        """Keep background runs from redoing what you undid. Raises StorageFailed."""
        with naming_the_cause(str(self._hold)):
            make_private(self._folder)
            self._hold.touch(mode=0o600)

    def release(self) -> None:
        """Allow background runs again. Raises StorageFailed."""
        with naming_the_cause(str(self._hold)):
            self._hold.unlink(missing_ok=True)

    def prune(self) -> None:
        """Delete all runs except the latest `KEPT_RUNS` and runs with unfinished jobs."""
        for run in self.list_runs()[:-KEPT_RUNS]:
            if all(entry.outcome != "announced" for entry in self.read_run(run)):
                self._file(run).unlink(missing_ok=True)

    def _append(self, run: str, values: Mapping[str, Any]) -> None:
        with self._lock:
            JsonLines(self._file(run)).append(dict(values))

    def _file(self, run: str) -> Path:
        return self._folder / f"{Path(run).name}.jsonl"


def _order(run: str) -> tuple[str, int]:
    """Return a sort key: a run's time, and its number among the runs of that time. Foreign names come first."""
    match = _NAME.fullmatch(run)
    return (match[1], int(match[2] or 1)) if match else ("", 0)


def _text_of(step: Step) -> str:
    match step:
        case MoveStep():
            return step.id
        case WriteStep():
            return f"{step.text}{step.before or ''}"
        case RemoveStep():
            return step.text
        case RelinkStep():
            return "\n".join(step.notes)  # without notes, the same job moves the targets of its links


def _contains(text: str, ids: Collection[str]) -> bool:
    return any(note_id in text for note_id in ids)


def _id_of(page: str) -> str | None:
    match = _ID.search(page)
    return match[1] if match else None
