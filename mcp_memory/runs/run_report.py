"""Reports the results, the progress and the open work of a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import NotePath
from mcp_memory.runs.execute_job import SKIPPED_ERRORS
from mcp_memory.runs.journal import JobEntry, JobOutcome, MoveStep, WriteStep
from mcp_memory.runtime.health import Progress
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import FRESH, PAGE


@dataclass(slots=True)
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
    steps = [step for entry in entries if entry.outcome is JobOutcome.DONE for step in entry.steps]
    filed = sum(isinstance(step, MoveStep) and step.source.rpartition("/")[0].endswith(f"/{FRESH}") for step in steps)
    written = len({step.path for step in steps if isinstance(step, WriteStep) and step.path.endswith(f"/{PAGE}")})
    parts = [f"{counted(filed, 'note')} filed"] if filed else []
    parts += [f"{counted(written, 'page')} written"] if written else []
    return ", ".join(parts) or "undone"


IDLE = "idle"


@dataclass(frozen=True, slots=True)
class LastRun:
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
            steps = (step for entry in entries if entry.outcome is JobOutcome.DONE for step in entry.steps)
            changed = dict.fromkeys(step.target if isinstance(step, MoveStep) else step.path for step in steps)
            self.last = LastRun(run, summarize_run(entries), tuple(changed))
