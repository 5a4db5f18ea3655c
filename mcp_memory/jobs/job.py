"""Define a background job, and the report of its run."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mcp_memory.jobs.due import Timing


@dataclass(frozen=True, slots=True)
class JobReport:
    """The report of a run. `about`: one line for people; `changed`: the files. Never the text of a note: both are kept
    in the journal of jobs."""

    about: str
    changed: Sequence[str] = ()
    figures: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class JobTurn:
    """A run under way. `why` it was due; `asked`: you wait for it. `lull` returns when nobody is being served, or after
    a few seconds, or once its argument is true. Await it between steps, in the task that the job was called in. Leave
    nothing half-done then, because a captured session may come in between."""

    why: str
    asked: bool
    lull: Callable[[Callable[[], bool]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Job:
    """A background job. `run` returns None if there was nothing to do; it may be cancelled or killed at any step, and
    then runs again. An error that it raises is a failure, except Refused, after which it is tried again later.

    `needs_model`: it isn't run while the language model is unavailable. `off`: the reason why it doesn't run by
    itself."""

    name: str
    about: str
    due: Timing
    run: Callable[[JobTurn], Awaitable[JobReport | None]]
    needs_model: bool = False
    off: str | None = None
    longest_s: float = 3600.0
