"""Runs jobs and undoes runs in worker threads, updates the index after each step, and reports what was done."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import anyio
from anyio import from_thread

from mcp_memory.errors import Busy, McpMemoryError, Refused
from mcp_memory.index.base import Index
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import NotePath
from mcp_memory.runs.execute_job import (
    SKIPPED_ERRORS,
    TouchedNotes,
    finish_jobs,
    folders_entered,
    pages_restored,
    remove_empty_folders,
    run_job,
    stoppable,
    undo_step,
)
from mcp_memory.runs.journal import JobEntry, MoveStep, RemoveStep, RunJournal, Step, WriteStep
from mcp_memory.runtime.health import Progress
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import FRESH, MAP, PAGE
from mcp_memory.topics.page_parts import RELATED_PART, parts_of
from mcp_memory.vault.journals.change_journal import acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten


@dataclass
class RunReport:
    """The report of a run; its lines are for people."""

    run: str
    done: list[str] = field(default_factory=list[str])
    """A line for each job."""
    kept: list[str] = field(default_factory=list[str])
    """Other updates: pages of empty topics, lists of related topics, the index of topics."""
    left: list[str] = field(default_factory=list[str])
    """A line for each job that wasn't done, with the reason."""
    provisional: list[str] = field(default_factory=list[str])
    """Pages with an extractive summary instead of a language model's, with the reasons."""
    failed: list[str] = field(default_factory=list[str])
    """Reasons for failures unrelated to the notes, such as a full disk."""
    given_up: int = 0
    """The number of jobs that another run may finish."""
    links: dict[NotePath, int] = field(default_factory=dict[NotePath, int])
    """Maps each file that we don't own to the number of its links to an old path; we don't change them."""
    waiting: int = 0
    """The number of fresh notes that stay where they are."""
    cut: bool = False
    """Whether the run ended early for a run that you asked for."""


def add_links(report: RunReport, found: Mapping[NotePath, int]) -> None:
    """Count links to old paths, by the file that has them."""
    for path, count in found.items():
        report.links[path] = report.links.get(path, 0) + count


def add_error(report: RunReport, error: McpMemoryError) -> None:
    """Leave a job to a later run."""
    report.left.append(error.message)
    report.given_up += 1
    if not isinstance(error, SKIPPED_ERRORS):
        report.failed.append(error.message)


def summarize_run(entries: Iterable[JobEntry]) -> str:
    """Return a line about the result of a run."""
    steps = [step for entry in entries if entry.outcome == "done" for step in entry.steps]
    filed = sum(isinstance(step, MoveStep) and step.source.rpartition("/")[0].endswith(f"/{FRESH}") for step in steps)
    written = len({step.path for step in steps if isinstance(step, WriteStep) and step.path.endswith(f"/{PAGE}")})
    parts = [f"{counted(filed, 'note')} filed"] if filed else []
    parts += [f"{counted(written, 'page')} written"] if written else []
    return ", ".join(parts) or "undone"


IDLE = "idle"


class LastRun(NamedTuple):
    """The last run. `run` is its name: the local time when it began (`20261121T093005`)."""

    run: str
    about: str
    changed: tuple[NotePath, ...]
    """The current paths of its files; for removed files, the old paths."""


class RunProgress:
    """The state of compaction, which the `engine_progress` also shows among the engine's other work."""

    def __init__(self, engine_progress: Progress) -> None:
        self._engine_progress = engine_progress
        self.now = Progress()
        self.last: LastRun | None = None
        """The last run that changed anything."""

    def step(self, phase: str, done: int = 0, total: int = 0) -> None:
        self.now.step(phase, done, total)
        self._engine_progress.step(phase, done, total)

    def set_idle(self) -> None:
        self.step(IDLE)

    def record_run(self, run: str, entries: Sequence[JobEntry]) -> None:
        if entries:
            steps = (step for entry in entries if entry.outcome == "done" for step in entry.steps)
            changed = dict.fromkeys(step.target if isinstance(step, MoveStep) else step.path for step in steps)
            self.last = LastRun(run, summarize_run(entries), tuple(changed))


Pace = Callable[[], Awaitable[bool]]
"""Awaited before each job; False ends the run before that job."""

JOB_S = 600.0
"""The deadline for a job, or for finishing all interrupted jobs."""


class RunLock:
    """Serializes runs. Your run waits for the current job of a background run, which takes moments, but not for another
    run of yours."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self.is_foreground_waiting = False
        """Whether you asked for a run: a background run then ends before its next job."""

    @property
    def is_busy(self) -> bool:
        return self.is_foreground_waiting or self._lock.locked()

    @asynccontextmanager
    async def foreground(self) -> AsyncGenerator[None]:
        """Hold the lock for your run. Raises Busy during another foreground run."""
        if self.is_foreground_waiting:
            raise Busy(
                "a compaction is running", hint="try again when it is done: mcp-memory status shows how far it is"
            )
        self.is_foreground_waiting = True
        try:
            async with self._lock:
                yield
        finally:
            self.is_foreground_waiting = False

    @asynccontextmanager
    async def background(self) -> AsyncGenerator[None]:
        async with self._lock:
            yield


@dataclass(frozen=True)
class JobRunner:
    """Runs jobs one at a time: the caller must have the run lock."""

    vault: Vault
    index: Index
    reconciler: Reconciler
    journal: RunJournal
    writer: IndexWriter

    async def run_job(self, run: str, entry: JobEntry) -> None:
        """Run a job in a thread. If the caller stops waiting, the thread stops after its current step. Raises like
        `execute_job.run_job`."""
        with stoppable(self._update_index_from_thread) as on_step:
            work = partial(run_job, self.vault, self.journal, run, entry, on_step)
            async with self.reconciler.paused():
                with acting(Caller(run=run)):
                    await in_thread(work, deadline_s=JOB_S, what="filing")

    async def finish_jobs(self) -> int:
        """Finish interrupted jobs; return their number. Raises StorageFailed."""
        work = partial(finish_jobs, self.vault, self.journal, self._update_index_from_thread)
        async with self.reconciler.paused():
            return await in_thread(work, deadline_s=JOB_S, what="filing")

    async def undo_run(self, run: str) -> RunReport:
        """Undo a run's jobs, latest first, and hold background runs. The report names files that have changed since;
        they stay. Raises NotFound, Refused for notes that a later run has moved, StorageFailed."""
        report = RunReport(run)
        entries = await in_thread(self.journal.read_run, run, what="reading the journal")
        await in_thread(self._check_latest, run, entries, what="reading the journal")
        await in_thread(self.journal.hold, what="the journal")
        pages = pages_restored(step for entry in entries for step in entry.steps)
        for entry in reversed([job for job in entries if job.outcome in {"done", "announced"}]):
            report.left += await self._undo_job(run, entry, pages)
            await in_thread(self.journal.end_job, run, entry.key, "undone", what="the journal")
            report.done.append(entry.about)
        entered = {folder for entry in entries for folder in folders_entered(entry)}
        await in_thread(remove_empty_folders, self.vault, entered, what="removing folders")
        return report

    def _check_latest(self, run: str, entries: Sequence[JobEntry]) -> None:
        """Raise Refused if a later run has moved files that this run moved, or rewritten any of its pages."""
        steps = list(_steps(entries))
        moves = [step for step in steps if isinstance(step, MoveStep)]
        there = {step.id: self.index.note(step.target) for step in moves}
        gone = {(step.id, step.target) for step in moves
                if (note := there[step.id]) is None or note.id != step.id}  # fmt: skip
        pages = {step.path for step in steps if isinstance(step, WriteStep) and not _is_map(step)}
        for later in reversed(self.journal.list_runs()):
            if later == run:
                break
            after = list(_steps(self.journal.read_run(later)))
            count = sum((step.id, step.source) in gone for step in after if isinstance(step, MoveStep))
            count += sum(step.path in pages and _tells_more(step) for step in after if isinstance(step, WriteStep))
            if count:
                raise Refused(
                    f"the later run {later} has changed {counted(count, 'file')} of this one",
                    hint=f"undo that one first: mcp-memory undo {later}",
                )

    async def _undo_job(self, run: str, entry: JobEntry, pages: Mapping[str, str]) -> list[str]:
        """Undo a job's steps, latest first; return the reasons for steps that couldn't be undone. `pages` are the pages
        that the whole undo restores, by id. Raises StorageFailed; calling it again continues."""
        left: list[str] = []

        def quotes(page: str) -> bool:
            return quotes_forgotten(page, self.vault, self.index, pages)

        async with self.reconciler.paused():
            for step in reversed(entry.steps):
                try:
                    undo = partial(undo_step, step, self.vault, quotes)
                    with acting(Caller(undoes=run)):
                        touched = await in_thread(undo, what="undoing a step")
                    await self._update_index(touched)
                except SKIPPED_ERRORS as error:
                    if not _is_map(step):  # the map is regenerated
                        left.append(error.message)
        return left

    async def _update_index(self, touched: TouchedNotes) -> None:
        """Update the index after a step. Raises IndexUnavailable."""
        for file in touched.files:
            await self.writer.index_note(file)
        for path in touched.removed:
            await self.writer.remove_deleted(path)

    def _update_index_from_thread(self, touched: TouchedNotes) -> None:
        from_thread.run(self._update_index, touched)


def _steps(entries: Sequence[JobEntry]) -> Iterator[Step]:
    """Yield the steps of all jobs except undone ones."""
    done = (entry for entry in entries if entry.outcome in {"done", "announced"})
    return (step for entry in done for step in entry.steps)


def _is_map(step: Step) -> bool:
    return isinstance(step, WriteStep | RemoveStep) and step.path.endswith(f"/{MAP}")


def _tells_more(step: WriteStep) -> bool:
    """Return whether a step changes more of a page than the list of related topics, which an undo updates, too."""
    now, before = (parts_of(text) | {RELATED_PART: []} for text in (step.text, step.before or ""))
    return now != before
