"""Reports what a run did, what it is doing now, and what it left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mcp_memory.compaction.execute_job import SKIPPED_ERRORS
from mcp_memory.compaction.journal import JobEntry, JobOutcome, MoveStep, WriteStep
from mcp_memory.errors import McpMemoryError
from mcp_memory.models import NotePath
from mcp_memory.runtime.health import Progress
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import PAGE
from mcp_memory.topics.plan import FRESH


@dataclass(slots=True)
class RunReport:
    """Lines are for people."""

    run: str
    done: list[str] = field(default_factory=list[str])
    """A line a job."""
    kept: list[str] = field(default_factory=list[str])
    """What was brought up to date besides: pages of empty topics, lists of related ones, the map."""
    left: list[str] = field(default_factory=list[str])
    """What was not done, and why."""
    provisional: list[str] = field(default_factory=list[str])
    """Pages in which the notes' own sentences stand in for a language model's, and why."""
    failed: list[str] = field(default_factory=list[str])
    """Of what was left, why it was that is no affair of the notes: a full disk, say."""
    given_up: int = 0
    """Jobs of which another run may do more."""
    links: dict[NotePath, int] = field(default_factory=dict[NotePath, int])
    """Files that are not ours, and how many links in them lead to where something was; they are as they were."""
    waiting: int = 0
    """Fresh notes that stay where they are."""
    cut: bool = False
    """Whether it made room for a person before it was through."""

    def add_links(self, found: Mapping[NotePath, int]) -> None:
        for path, count in found.items():
            self.links[path] = self.links.get(path, 0) + count

    def add_error(self, error: McpMemoryError) -> None:
        """A job is left to a later run."""
        self.left.append(error.message)
        self.given_up += 1
        if not isinstance(error, SKIPPED_ERRORS):
            self.failed.append(error.message)


def summarize_run(entries: Iterable[JobEntry]) -> str:
    """What a run did, in a line."""
    steps = [step for entry in entries if entry.outcome is JobOutcome.DONE for step in entry.steps]
    filed = sum(isinstance(step, MoveStep) and step.source.rpartition("/")[0].endswith(f"/{FRESH}") for step in steps)
    written = len({step.path for step in steps if isinstance(step, WriteStep) and step.path.endswith(f"/{PAGE}")})
    said = [f"{counted(filed, 'note')} filed"] if filed else []
    said += [f"{counted(written, 'page')} written"] if written else []
    return ", ".join(said) or "taken back"


IDLE = "idle"


@dataclass(frozen=True, slots=True)
class LastRun:
    """A run: its name, which is when it began, by this device's clock (`20261121T093005`); and what it did."""

    run: str
    about: str


class RunProgress:
    """`whole` shows it with the engine's other work."""

    def __init__(self, whole: Progress) -> None:
        self._whole = whole
        self.now = Progress()
        self.last: LastRun | None = None
        """The last one that did anything."""

    def step(self, phase: str, done: int = 0, total: int = 0) -> None:
        self.now.step(phase, done, total)
        self._whole.step(phase, done, total)

    def set_idle(self) -> None:
        self.step(IDLE)

    def record_run(self, run: str, entries: Sequence[JobEntry]) -> None:
        if entries:
            self.last = LastRun(run, summarize_run(entries))
