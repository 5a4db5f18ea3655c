"""A background job, when it is due, the report of its run, and the record of its runs in the state folder, never
with the text of a note.

Intervals and times of day are counted on the wall clock from the beginning of the last run. So a machine that slept
or was off over any number of them catches up once. A last run in the future by more than a period means that the
clock was wrong then: the job is due now.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, time, timedelta, tzinfo
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from mcp_memory.errors import ConfigInvalid
from mcp_memory.models import NotePath
from mcp_memory.runtime.json_lines import Facts, JsonLines
from mcp_memory.text.pluralize import counted

DAY_S = 86_400.0


@dataclass(frozen=True)
class JobsConfig:
    """Section `[jobs]`; `configs/default.toml` documents each key."""

    enabled: bool = True
    at: str = "03:30"
    times: Mapping[str, str] = field(default_factory=dict[str, str])
    off: tuple[str, ...] = ()

    def time_of_day(self, job: str) -> time:
        """Return when a daily job runs, in the vault's zone. Raises ConfigInvalid."""
        key, value = (f"times.{job}", self.times[job]) if job in self.times else ("at", self.at)
        try:
            return time.fromisoformat(value).replace(tzinfo=None)
        except ValueError:
            raise ConfigInvalid(f"jobs.{key} is {value!r}", hint='use a time of day like "03:30"') from None


class Timing:
    """The times at which one job is due."""

    @property
    def about(self) -> str:
        """Describe the timing in words, such as "daily at 03:30"."""
        raise NotImplementedError

    def wait_s(self, last: float, now: float) -> float | None:
        """Return the seconds until the job is due: 0 for now, None for not before something changes. `last`, when it
        last began or was first seen, and `now` are in Unix time."""
        raise NotImplementedError

    def note_changes(self, paths: Collection[NotePath]) -> None: ...

    def begin(self) -> None: ...  # and sees all changes so far

    def end(self) -> None: ...  # well or not


@dataclass
class Every(Timing):
    """A timing of once in `interval_s` seconds, or sooner if somebody wants it."""

    interval_s: float
    is_wanted: bool = field(default=False, init=False)

    @property
    def about(self) -> str:
        minutes = round(self.interval_s / 60)
        return f"every {f'{minutes / 60:g} h' if minutes >= 60 else counted(minutes, 'minute')}"

    def wait_s(self, last: float, now: float) -> float | None:
        is_due = self.is_wanted or last > now + self.interval_s
        return 0.0 if is_due else max(0.0, last + self.interval_s - now)

    def begin(self) -> None:
        self.is_wanted = False


@dataclass(frozen=True)
class Daily(Timing):
    """A timing of once a day at the time `at` in `zone`. In an hour that summer time skips, it is an hour later; in an
    hour that comes twice, it is the first."""

    at: time
    zone: tzinfo

    @property
    def about(self) -> str:
        return f"daily at {self.at:%H:%M}"

    def wait_s(self, last: float, now: float) -> float | None:
        today = datetime.fromtimestamp(now, self.zone).date()
        times = [datetime.combine(today + timedelta(days), self.at, self.zone).timestamp() for days in (-1, 0, 1)]
        latest = max(when for when in times if when <= now)
        if last < latest or last > now + DAY_S:
            return 0.0
        return min(when for when in times if when > now) - now


class AfterQuiet(Timing):
    """A timing of `quiet_s` without changes, or `longest_wait_s` after the first change that no run has seen.

    `concerns` selects the relevant changes; by default all. `clock` is in monotonic seconds."""

    def __init__(
        self,
        *,
        quiet_s: float,
        longest_wait_s: float,
        concerns: Callable[[Collection[NotePath]], bool] = bool,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._quiet_s = quiet_s
        self._longest_wait_s = max(quiet_s, longest_wait_s)
        self._concerns = concerns
        self._clock = clock
        self._first: float | None = None
        self._last = 0.0
        self._again_at: float | None = None
        self._can_wait = False
        self._is_running = False
        self._began_with: float | None = None

    @property
    def about(self) -> str:
        return f"after {self._quiet_s:g} s of quiet"

    def note_changes(self, paths: Collection[NotePath]) -> None:
        if self._concerns(paths):
            self.note_change()

    def note_change(self) -> None:
        """Note that something changed that a run may have to deal with."""
        self._last = self._clock()
        self._first = self._last if self._first is None else self._first
        self._can_wait = False

    @property
    def is_waiting(self) -> bool:
        """Return whether there are changes that no run has seen."""
        return self._first is not None

    @property
    def due_in_s(self) -> float | None:
        """Return the seconds until a run is due: 0 for now; None if nothing has changed, or during a run."""
        due: list[float] = [] if self._again_at is None else [self._again_at]
        if self._first is not None:
            latest = self._first + self._longest_wait_s
            due.append(latest if self._can_wait else min(latest, self._last + self._quiet_s))
        return None if not due or self._is_running else max(0.0, min(due) - self._clock())

    def wait_s(self, last: float, now: float) -> float | None:  # noqa: ARG002 -- changes count, not the time of day
        return self.due_in_s

    @property
    def is_overdue(self) -> bool:
        """Return whether the longest wait has passed, so that a single note is enough for a run, which may have
        begun."""
        first = self._began_with if self._is_running else self._first
        return first is not None and self._clock() >= first + self._longest_wait_s

    def begin(self) -> None:
        self._began_with, self._first, self._again_at, self._is_running = self._first, None, None, True

    def end(self) -> None:
        self._is_running = False

    def look_again(self, in_s: float | None) -> None:
        """Make the job due again in `in_s` seconds, even without changes; for None only with a change."""
        self._again_at = None if in_s is None else self._clock() + in_s

    def put_off(self) -> None:
        """Postpone the run, which found too little and did nothing. Its changes wait as long as allowed, unless more
        come."""
        self._can_wait = self._first is None
        self._first = self._clock() if self._began_with is None else self._began_with


@dataclass(frozen=True)
class JobReport:
    """The report of a run. `about`: one line for people; `changed`: the files. Never the text of a note: both are kept
    in the journal of jobs."""

    about: str
    changed: Sequence[str] = ()
    figures: Mapping[str, float] = field(default_factory=dict[str, float])


class JobTurn(NamedTuple):
    """A run under way. `why` it was due; `asked`: you wait for it. `lull` returns when nobody is being served, or after
    a few seconds, or once its argument is true. Await it between steps, in the task that the job was called in. Leave
    nothing half-done then, because a captured session may come in between."""

    why: str
    asked: bool
    lull: Callable[[Callable[[], bool]], Awaitable[None]]


@dataclass(frozen=True)
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


MOST_BYTES = 500_000  # the bytes of each of two files: some 3,000 runs
MOST_NAMED = 50  # the most changed files that are named; the others are counted


class JobJournal:
    """The journal of jobs. JSON lines, bounded: the oldest runs are dropped. Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._lines = JsonLines(file, synced=False, most_bytes=MOST_BYTES)
        self._erased: set[str] = set()
        """Files that no run may name any more, also one that was under way."""

    def record(self, run: Facts, report: JobReport, *, is_kept: bool) -> Facts:
        """Record a run and return the line, kept or not. If the disk refuses, only the log reports it."""
        changed = [path for path in report.changed if path not in self._erased]
        line: dict[str, Any] = {**run, **asdict(report), "changed": changed[:MOST_NAMED], "files": len(report.changed)}
        if is_kept and not _names(line, self._erased):
            self._lines.try_append(line)
        return line

    def read_runs(self, job: str | None = None, limit: int = 20) -> list[Facts]:
        """Return the runs, the latest first. Raises StorageFailed."""
        runs = [{"error": None, **facts} for facts in self._lines.read() if job in {None, facts.get("job")}]
        return runs[: -limit - 1 : -1]

    def count_naming(self, paths: Collection[str]) -> int:
        """Count the runs that name one of these files. Raises StorageFailed."""
        return sum(_names(facts, paths) for facts in self._lines.read())

    def erase(self, paths: Collection[str]) -> None:
        """Remove the runs that name one of these files, and keep later ones from naming it. Raises StorageFailed."""
        self._erased.update(paths)
        self._lines.remove(lambda facts: _names(facts, paths))

    def names_erased(self, result: str | None) -> bool:
        """Return whether a job's result names an erased file."""
        return _names({"about": result}, self._erased)


def _names(facts: Facts, paths: Collection[str]) -> bool:
    told = [*facts.get("changed", ()), facts.get("about") or "", facts.get("error") or ""]
    return any(path in text for text in told for path in paths)
