"""Journal of compaction runs: each job is on disk with all its steps before it touches a file.

One file per run, one JSON object per line. Steps contain all that they write, so the next start finishes a job that a
crash interrupted from here alone, and a finished run can be undone for as long as its file is kept.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from mcp_memory.errors import NotFound
from mcp_memory.models import NoteId, NotePath
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import append_line
from mcp_memory.text.markdown.link_targets import Redirect


@dataclass(frozen=True, slots=True)
class MoveStep:
    """A note, or a topic's page with its folder, goes to another folder."""

    id: NoteId
    source: NotePath
    target: NotePath


@dataclass(frozen=True, slots=True)
class RelinkStep:
    """Targets of links in a body are written anew, in their order. `before` and `after` are hashes of the body: what
    its frontmatter says of it meanwhile is nobody's business."""

    path: NotePath
    before: str
    after: str
    redirects: Sequence[Redirect]


@dataclass(frozen=True, slots=True)
class WriteStep:
    """A page is written. `before` is what stood there, None for nothing."""

    path: NotePath
    text: str
    before: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveStep:
    """A page goes; `text` is what it says."""

    path: NotePath
    text: str


Step = MoveStep | RelinkStep | WriteStep | RemoveStep

_KINDS: Mapping[str, type[Step]] = {
    kind.__name__.lower(): kind for kind in (MoveStep, RelinkStep, WriteStep, RemoveStep)
}


def step_to_json(step: Step) -> dict[str, Any]:
    return {type(step).__name__.lower(): asdict(step)}


def step_from_json(value: Mapping[str, Any]) -> Step:
    """Raises KeyError or TypeError for what is no step."""
    ((kind, values),) = value.items()
    return _KINDS[kind](**values)


_NAME = re.compile(r"([0-9]{8}T[0-9]{6})(?:-([0-9]{1,9}))?")
_ID = re.compile(r"^id: (\S+)$", re.MULTILINE)

KEPT_RUNS = 100
"""Older ones can no longer be undone."""


class JobOutcome(StrEnum):
    ANNOUNCED = "announced"
    DONE = "done"
    ABORTED = "aborted"
    """Given up before its first step: a source had changed."""
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class JobEntry:
    """One job of a run. `key` is made of what the job does, so that the same job has the same key."""

    key: str
    about: str
    """A line for people, with titles and counts, never a note's text."""
    steps: Sequence[Step]
    audit: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The loss audit of the page that the job writes."""
    outcome: JobOutcome = JobOutcome.ANNOUNCED
    problem: str = ""
    """Why the page is provisional; not kept."""

    @property
    def page(self) -> NotePath:
        """The page that the job writes last."""
        return next(step.path for step in reversed(self.steps) if isinstance(step, WriteStep))


def hash_job(verb: str, told: Iterable[str]) -> str:
    """Of a job that does this with these, in whatever order."""
    return hashlib.sha256("\n".join([verb, *sorted(told)]).encode(errors="surrogatepass")).hexdigest()[:24]


class RunJournal:
    """The runs of one vault on this device. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hold = folder / "held"
        self._lock = threading.Lock()

    def list_runs(self) -> list[str]:
        """Their names, oldest first."""
        try:
            names = [file.stem for file in self._folder.glob("*.jsonl") if file.is_file()]
        except OSError:
            return []
        return sorted(names, key=lambda name: (_order(name), name))

    def new_run_name(self, now: datetime) -> str:
        """A name for a run that begins now, later than all others, whatever the clock has done since."""
        name = f"{now:%Y%m%dT%H%M%S}"
        latest, number = max(map(_order, self.list_runs()), default=("", 0))
        return name if name > latest else f"{latest}-{number + 1}"

    def read_run(self, run: str) -> list[JobEntry]:
        """In their order. Raises NotFound. Half a line, which a crash leaves, was never begun."""
        try:
            lines = self._file(run).read_text(encoding="utf-8", errors="replace").split("\n")
        except (OSError, ValueError):
            raise NotFound(
                f"no run {run[:40]!r}", hint=f"the latest: {', '.join(self.list_runs()[-3:]) or 'none'}"
            ) from None
        found: dict[str, JobEntry] = {}
        for line in lines:
            try:
                said = json.loads(line)
                key = said["key"]
                if "steps" in said:
                    steps = [step_from_json(step) for step in said["steps"]]
                    found[key] = JobEntry(key, said["about"], steps, said["audit"])
                else:
                    known = found[key]
                    found[key] = replace(known, outcome=JobOutcome(said["outcome"]))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        return list(found.values())

    def read_all_runs(self) -> list[tuple[str, list[JobEntry]]]:
        """The runs with their jobs, oldest first."""
        return [(run, self.read_run(run)) for run in self.list_runs()]

    def pages_written(self, run: str) -> set[NoteId]:
        """The pages that a run wrote, wherever they are by now; none for one that did nothing."""
        entries = self.read_run(run) if run in self.list_runs() else []
        texts = [step.text for entry in entries for step in entry.steps if isinstance(step, WriteStep)]
        return {NoteId(page_id) for text in texts if (page_id := _id_of(text))}

    def unfinished_jobs(self) -> list[tuple[str, JobEntry]]:
        """The jobs that were begun and not ended, with their runs."""
        return [
            (run, entry)
            for run, some in self.read_all_runs()
            for entry in some
            if entry.outcome is JobOutcome.ANNOUNCED
        ]

    def has_done(self, key: str) -> bool:
        """Whether a job of this key is done, and was not taken back."""
        return any(
            entry.key == key and entry.outcome is JobOutcome.DONE for _, some in self.read_all_runs() for entry in some
        )

    def begin_job(self, run: str, entry: JobEntry) -> None:
        """To be called before the first step. Raises StorageFailed; then nothing may be done."""
        steps = [step_to_json(step) for step in entry.steps]
        self._append(run, {"key": entry.key, "about": entry.about, "steps": steps, "audit": dict(entry.audit)})

    def end_job(self, run: str, key: str, outcome: JobOutcome) -> None:
        """Raises StorageFailed; then the next start does the job's steps again, which does nothing."""
        self._append(run, {"key": key, "outcome": outcome})

    def runs_mentioning(self, ids: Collection[NoteId]) -> list[str]:
        """The runs that may hold words of one of these notes: that moved it, wrote a page from it, or a page from such
        a page."""
        entries = dict(self.read_all_runs())
        pages = [step.text for some in entries.values() for entry in some for step in entry.steps
                 if isinstance(step, WriteStep | RemoveStep)]  # fmt: skip
        told: set[str] = set(ids)
        while more := {page_id for text in pages if _names(text, told) and (page_id := _id_of(text))} - told:
            told |= more
        return [run for run, some in entries.items() if any(_mentions(entry, told) for entry in some)]

    def delete_runs(self, runs: Iterable[str]) -> None:
        """These can no longer be undone. Raises StorageFailed."""
        with self._lock, naming_the_cause(str(self._folder)):
            for run in runs:
                self._file(run).unlink(missing_ok=True)

    @property
    def is_held(self) -> bool:
        """Whether a person has taken a run back, and asked for none since."""
        return self._hold.exists()

    def hold(self) -> None:
        """What a person took back is not to be done again unasked. Raises StorageFailed."""
        with naming_the_cause(str(self._hold)):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._hold.touch(mode=0o600)

    def release(self) -> None:
        """A person wants runs again. Raises StorageFailed."""
        with naming_the_cause(str(self._hold)):
            self._hold.unlink(missing_ok=True)

    def prune(self) -> None:
        """Leave the latest `KEPT_RUNS` and those with something unfinished."""
        for run in self.list_runs()[:-KEPT_RUNS]:
            if all(entry.outcome is not JobOutcome.ANNOUNCED for entry in self.read_run(run)):
                self._file(run).unlink(missing_ok=True)

    def _append(self, run: str, said: Mapping[str, Any]) -> None:
        file = self._file(run)
        line = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        with self._lock, naming_the_cause(str(file)):
            append_line(file, line)

    def _file(self, run: str) -> Path:
        return self._folder / f"{Path(run).name}.jsonl"


def _order(run: str) -> tuple[str, int]:
    """Its time, and its number among those of that time; what no run of ours is called comes first."""
    match = _NAME.fullmatch(run)
    return (match[1], int(match[2] or 1)) if match else ("", 0)


def _mentions(entry: JobEntry, ids: Collection[str]) -> bool:
    return any(_names(_told(step), ids) for step in entry.steps)


def _told(step: Step) -> str:
    match step:
        case MoveStep():
            return step.id
        case WriteStep():
            return f"{step.text}{step.before or ''}"
        case RemoveStep():
            return step.text
        case RelinkStep():
            return ""  # it stands beside the moves of what its links lead to


def _names(text: str, ids: Collection[str]) -> bool:
    return any(each in text for each in ids)


def _id_of(page: str) -> str | None:
    match = _ID.search(page)
    return match[1] if match else None
