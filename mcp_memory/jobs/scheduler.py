"""Run jobs when they are due: one at a time, behind everybody's calls, again after a failure, once after a sleep."""

import json
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import Any

import anyio

from mcp_memory.errors import Busy, InvalidInput, McpMemoryError, NotFound, Refused
from mcp_memory.jobs.job import Job, JobJournal, JobReport, JobsConfig, JobTurn
from mcp_memory.models import Clock, NotePath
from mcp_memory.runtime.health import IdleDetector
from mcp_memory.runtime.private_files import naming_the_cause, replace_file
from mcp_memory.runtime.threads import in_thread, place_of

LULL_S = 0.3  # a step begins when the engine has been idle for this time …
# … or at the latest after this wait: beside calls that never end, 100 steps take eight minutes longer
MOST_LULL_S = 5.0
RETRY_S = 60.0  # after a failed run; doubled with each further failure, up to:
LATEST_RETRY_S = 3600.0
KEEPS_FAILING = 3  # the failed runs in a row that `doctor` reports
LOOK_S = 60.0  # the time to notice that a clock changed, or that the machine slept: the monotonic clock may stop then
BUSY_S = 20.0  # how long a run that you ask for waits for the current run
Facts = dict[str, Any]
"""The state or the outcome of a job as plain values."""
ASKED = "you asked for it"

log = logging.getLogger(__name__)


@dataclass
class JobState:
    """The stored state of a job. Times are Unix seconds; `since` is when it was first seen. If `began` is after `ended`
    in a state that was just read, the process ended during the run."""

    since: float
    began: float = 0.0
    ended: float = 0.0
    failures: int = 0
    result: str | None = None
    paused: bool = False


class Scheduler:
    """The scheduler, one task of the engine. `clock` gives the time; `model_free_in_s` the seconds until the language
    model may be asked, infinite without a model."""

    def __init__(
        self,
        config: JobsConfig,
        state: Path,
        idle_detector: IdleDetector,
        clock: Clock,
        model_free_in_s: Callable[[], float] = lambda: inf,
    ) -> None:
        self._config = config
        self._file = state / "jobs.json"
        self._idle_detector = idle_detector
        self._clock = clock
        self._model_free_in_s = model_free_in_s
        self.journal = JobJournal(state / "jobs.jsonl")
        self._jobs: dict[str, Job] = {}
        self._retry_at: dict[str, float] = {}
        self._states = _read_states(self._file)  # also of jobs that aren't registered now
        self._one_job = anyio.Lock()
        self._turn = anyio.Semaphore(1, max_value=1)
        self._woken = anyio.Event()
        self.running: str | None = None  # the job that runs now
        self.is_on = False  # whether jobs run by themselves

    def register(self, *jobs: Job) -> None:
        """Register jobs before `run`. If several jobs are due at once, the job registered first runs first."""
        for job in jobs:
            self._jobs[job.name] = job
            state = self._states.setdefault(job.name, JobState(self._now()))
            if state.began > state.ended:
                state.failures, state.result = state.failures + 1, "the daemon ended during the run"
                state.ended = state.began
                self._retry_at[job.name] = monotonic() + self._back_off_s(state.failures)

    def note_changes(self, paths: Collection[NotePath]) -> None:
        """Note that files were indexed again. Call it in the event loop."""
        for job in self._jobs.values():
            job.due.note_changes(paths)
        self._woken.set()

    async def run(self) -> None:
        """Run jobs forever."""
        with suppress(McpMemoryError):  # a run saves it again
            await self._save()
        while True:
            waits = {name: wait for name in self._jobs if (wait := self.wait_s(name)) is not None}
            due = next((name for name, wait in waits.items() if not wait), None)
            if due is not None:
                await self._run(self._jobs[due], asked=False)
                continue
            self._woken = anyio.Event()
            with anyio.move_on_after(min(LOOK_S, *waits.values(), inf)):
                await self._woken.wait()

    async def run_now(self, name: str) -> Facts:
        """Run a job that you ask for, even if it is off or paused. Raises NotFound for an unknown job, Busy."""
        job = self._known_job(name)
        with anyio.move_on_after(BUSY_S):
            while self._one_job.locked():  # noqa: ASYNC110 -- another task's turn ends
                await anyio.sleep(0.05)
        if self._one_job.locked():
            raise Busy(f"{self.running} is running", hint="try again when it is done: mcp-memory jobs shows it")
        return await self._run(job, asked=True)

    async def set_paused(self, name: str, *, paused: bool) -> None:
        """Pause or resume a job. A run under way goes on. Raises NotFound, StorageFailed."""
        self._known_job(name)
        self._states[name].paused = paused
        await self._save()
        self._woken.set()

    async def answer(self, action: str, name: str | None, limit: int) -> Facts:
        """Answer `mcp-memory jobs`. Raises NotFound, Busy, StorageFailed, InvalidInput for an unknown action."""
        if action == "log":
            return {"runs": await in_thread(self.journal.read_runs, name, limit, what="reading the runs")}
        if action == "run":
            return {"runs": [await self.run_now(name or "")]}
        if action in {"pause", "resume"}:
            await self.set_paused(name or "", paused=action == "pause")
        elif action != "list":
            raise InvalidInput(f"unknown action {action[:100]!r}", hint="list, run, log, pause or resume")
        return {"jobs": self.overview()}

    def erase(self, paths: Collection[str]) -> None:
        """Remove the runs and results that name one of these files, also of a job under way. Blocking. Raises
        StorageFailed."""
        self.journal.erase(paths)
        for state in self._states.values():
            if self.journal.names_erased(state.result):
                state.result = None
        self._write_states()

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[float]:
        """Take a turn for work that can't wait for a job's end: within the block no job is at work, but one may be
        between two steps. Yields the Unix time."""
        async with self._turn:
            yield self._now()

    async def record(
        self, job: str, why: str, began: float, report: JobReport, error: str | None = None, *, is_kept: bool = True
    ) -> Facts:
        """Journal a run that began at this Unix time and ends now. Returns the line, kept or not; never raises if it
        can't be kept."""
        facts = {"run": f"{job}-{datetime.fromtimestamp(began, UTC):%Y%m%dT%H%M%S}-{token_hex(2)}", "job": job}
        facts |= {"why": why, "began": _iso(began), "ended": _iso(self._now()), "error": error}
        with suppress(McpMemoryError):
            return await in_thread(
                lambda: self.journal.record(facts, report, is_kept=is_kept), what="journalling a job"
            )
        return facts

    def wait_s(self, name: str) -> float | None:
        """Return the seconds until the job runs by itself; None if it is off, paused or waits for a change."""
        job, state = self._jobs[name], self._states[name]
        if self._why_off(job) or state.paused:
            return None
        if name in self._retry_at:
            return max(0.0, self._retry_at[name] - monotonic())
        wait = job.due.wait_s(state.began or state.since, self._now())
        if wait is not None and job.needs_model:
            wait = max(wait, self._model_free_in_s())
        return None if wait == inf else wait

    @property
    def troubles(self) -> Mapping[str, str]:
        """Return why jobs keep failing, by job."""
        states = {name: self._states[name] for name in self._jobs}
        return {name: state.result or "" for name, state in states.items() if state.failures >= KEEPS_FAILING}

    def facts(self, name: str) -> Facts:
        """Return facts about a job, for people; times in ISO 8601 in UTC, `next_s` in seconds."""
        job, state, wait = self._jobs[name], self._states[name], self.wait_s(name) if self.is_on else None
        return {
            **{"name": name, "about": job.about, "when": job.due.about},
            **{"result": state.result, "failures": state.failures, "paused": state.paused},
            "last": _iso(state.began) if state.began else None,
            "running": self.running == name,
            "next_s": None if wait is None else round(wait, 1),
            "next": None if wait is None else _iso(self._now() + wait),
            "off": self._why_off(job) or (None if self.is_on else "background jobs are off"),
        }

    def overview(self) -> list[Facts]:
        return list(map(self.facts, self._jobs))

    def next_job(self) -> Facts | None:
        """Return the job that runs now, or else the next job to run by itself."""
        jobs = self.overview() if self.is_on else []
        coming = [facts for facts in jobs if facts["next_s"] is not None or facts["running"]]
        return min(coming, key=lambda facts: (not facts["running"], facts["next_s"] or 0), default=None)

    # -- below -------------------------------------------------------------------------------------------------

    def _why_off(self, job: Job) -> str | None:
        return f"{job.name} is named in jobs.off" if job.name in self._config.off else job.off

    def _known_job(self, name: str) -> Job:
        if name not in self._jobs:
            raise NotFound(f"no job {name[:100]!r}", hint=f"known: {', '.join(self._jobs)}")
        return self._jobs[name]

    async def _run(self, job: Job, *, asked: bool) -> Facts:
        """Run a job once and catch every error, since no error may end the daemon."""
        async with self._one_job:
            state, began, self.running = self._states[job.name], self._now(), job.name
            why = ASKED if asked else "the last run failed" if job.name in self._retry_at else job.due.about
            report, error, waits = None, None, False
            state.began, state.ended = began, 0.0
            job.due.begin()
            try:
                await self._save()
                with anyio.move_on_after(job.longest_s) as limit:
                    async with self._turn:
                        lull = self._lull_of(asked=asked)
                        await lull(lambda: False)
                        with self._idle_detector.behind():
                            report = await job.run(JobTurn(why, asked, lull))
                error = f"not done after {job.longest_s / 60:.0f} minutes" if limit.cancelled_caught else None
            except Refused as refused:  # the vault is read-only, or you have to confirm a mass deletion
                error, waits = refused.message, True
            except McpMemoryError as failed:
                error = failed.message
            except Exception as bug:
                error = place_of(bug)
            finally:
                job.due.end()
                self.running = None
            state.ended = self._now()
            self._settle(state, job.name, report, error, waits=waits)
            if self.journal.names_erased(state.result):
                state.result = None
            with suppress(McpMemoryError):  # the job is done; only the time of its run would be forgotten
                await self._save()
            done = report or JobReport("" if error else state.result or "")
            return await self.record(job.name, why, began, done, error, is_kept=asked or bool(report or error))

    def _settle(self, state: JobState, name: str, report: JobReport | None, error: str | None, *, waits: bool) -> None:
        self._retry_at.pop(name, None)
        if error is None:
            state.failures, state.result = 0, report.about if report else "nothing to do"
            return
        if error != state.result:
            log.warning("job %s: %s", name, error)
        state.failures, state.result = state.failures + (not waits), error
        self._retry_at[name] = monotonic() + (LATEST_RETRY_S if waits else self._back_off_s(state.failures))

    def _lull_of(self, *, asked: bool) -> Callable[[Callable[[], bool]], Any]:
        async def lull(unless: Callable[[], bool]) -> None:
            self._turn.release()
            try:
                if not asked:
                    await self._idle_detector.lull(quiet_s=LULL_S, at_most_s=MOST_LULL_S, unless=unless)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._turn.acquire()

        return lull

    def _now(self) -> float:
        return self._clock().timestamp()

    def _back_off_s(self, failures: int) -> float:
        return min(LATEST_RETRY_S, RETRY_S * 2.0 ** min(failures - 1, 20))

    async def _save(self) -> None:
        """Save all states. Raises StorageFailed, DeadlineExceeded."""
        await in_thread(self._write_states, deadline_s=10, what="the state of jobs")

    def _write_states(self) -> None:
        states = {name: asdict(state) for name, state in self._states.items()}
        with naming_the_cause(str(self._file)):
            replace_file(self._file, json.dumps(states, indent=1).encode())


def _iso(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="seconds")


def _read_states(file: Path) -> dict[str, JobState]:
    """Read the states; empty if the file is missing or invalid: each job is as if seen for the first time."""
    with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {name: JobState(**facts) for name, facts in json.loads(file.read_bytes()).items()}
    return {}
