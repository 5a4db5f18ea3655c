"""Reports what a run did, is doing, and left."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mcp_memory.compaction.execute_job import SKIPPED_ERRORS
from mcp_memory.compaction.journal import JobEntry, JobOutcome, MoveStep, WriteStep
from mcp_memory.errors import McpMemoryError
from mcp_memory.models import NotePath
from mcp_memory.runtime.health import Progress
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import PAGE
from mcp_memory.topics.places import FRESH


@dataclass(slots=True)
class RunReport:
    """Lines are for people."""

    run: str
    done: list[str] = field(default_factory=list[str])
    """One line per job."""
    kept: list[str] = field(default_factory=list[str])
    """Other updates: pages of empty topics, lists of related ones, the index of topics."""
    left: list[str] = field(default_factory=list[str])
    """What was not done, and why."""
    provisional: list[str] = field(default_factory=list[str])
    """Pages with an extractive summary instead of a language model's, and why."""
    failed: list[str] = field(default_factory=list[str])
    """Reasons for failures unrelated to the notes, such as a full disk."""
    given_up: int = 0
    """Jobs that another run may finish."""
    links: dict[NotePath, int] = field(default_factory=dict[NotePath, int])
    """Files that aren't ours, and how many of their links lead to an old path; we don't change them."""
    waiting: int = 0
    """Fresh notes that stay where they are."""
    cut: bool = False
    """Whether it ended early for a run that you asked for."""

    def add_links(self, found: Mapping[NotePath, int]) -> None:
        for path, count in found.items():
            self.links[path] = self.links.get(path, 0) + count

    def add_error(self, error: McpMemoryError) -> None:
        """Leaves a job to a later run."""
        self.left.append(error.message)
        self.given_up += 1
        if not isinstance(error, SKIPPED_ERRORS):
            self.failed.append(error.message)


def summarize_run(entries: Iterable[JobEntry]) -> str:
    """One line about what a run did."""
    steps = [step for entry in entries if entry.outcome is JobOutcome.DONE for step in entry.steps]
    filed = sum(isinstance(step, MoveStep) and step.source.rpartition("/")[0].endswith(f"/{FRESH}") for step in steps)
    written = len({step.path for step in steps if isinstance(step, WriteStep) and step.path.endswith(f"/{PAGE}")})
    parts = [f"{counted(filed, 'note')} filed"] if filed else []
    parts += [f"{counted(written, 'page')} written"] if written else []
    return ", ".join(parts) or "undone"


IDLE = "idle"


@dataclass(frozen=True, slots=True)
class LastRun:
    """`run` is its name: the local time when it began (`20261121T093005`)."""

    run: str
    about: str
    changed: tuple[NotePath, ...]
    """Where its files are now; of removed ones, where they were."""


class RunProgress:
    """The state of compaction, also shown in the `engine_progress` among the engine's other work."""

    def __init__(self, engine_progress: Progress) -> None:
        self._engine_progress = engine_progress
        self.now = Progress()
        self.last: LastRun | None = None
        """The last one that did anything."""

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
