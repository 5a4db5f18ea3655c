"""Background work goes one at a time, after failures again, once after a sleep, and never because a clock was wrong."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio
import hypothesis.strategies as st
import pytest
from hypothesis import given

from mcp_memory.errors import NotFound, Refused, StorageFailed
from mcp_memory.jobs import scheduler as module
from mcp_memory.jobs.job import Daily, Every, Job, JobReport, JobsConfig, JobTurn, Timing
from mcp_memory.jobs.scheduler import Scheduler
from mcp_memory.runtime.health import IdleDetector
from tests.support.world import eventually

pytestmark = pytest.mark.anyio
BERLIN = ZoneInfo("Europe/Berlin")
DAILY = Daily(time(2, 30), BERLIN)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LULL_S", 0.0), ("RETRY_S", 0.02), ("LOOK_S", 0.01), ("BUSY_S", 0.1)):
        monkeypatch.setattr(module, name, value)


@dataclass
class Machine:
    """A state folder and a clock that the test sets, over any number of daemons."""

    state: Path
    now: datetime = datetime(2026, 11, 23, 12, tzinfo=UTC)
    runs: list[str] = field(default_factory=list[str])

    def scheduler(self, *jobs: Job, config: JobsConfig | None = None) -> Scheduler:
        made = Scheduler(config or JobsConfig(), self.state, IdleDetector(), lambda: self.now)
        made.register(*jobs)
        made.is_on = True
        return made

    @asynccontextmanager
    async def daemon(self, *jobs: Job, config: JobsConfig | None = None) -> AsyncGenerator[Scheduler]:
        made = self.scheduler(*jobs, config=config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.run)
            yield made
            tasks.cancel_scope.cancel()

    def job(
        self,
        name: str,
        due: Timing,
        work: Callable[[JobTurn], Awaitable[JobReport | None]] | None = None,
        **more: float,
    ) -> Job:
        async def run(turn: JobTurn) -> JobReport | None:
            self.runs.append(name)
            return await work(turn) if work else JobReport(f"{name} did it", ["a.md"], {"notes": 1})

        return Job(name, f"Does {name}", due, run, **more)  # pyright: ignore[reportArgumentType] -- `longest_s`


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "state")


async def test_a_sleep_over_many_due_hours_is_caught_up_once(machine: Machine) -> None:
    job = machine.job("dream", DAILY)
    async with machine.daemon(job) as made:
        assert made.facts("dream")["next"] == "2026-11-24T01:30:00+00:00" and not machine.runs
        machine.now += timedelta(days=9)
        await eventually(lambda: len(made.journal.read_runs()) == 1)
        assert made.facts("dream")["result"] == "dream did it"
    machine.now += timedelta(days=5, hours=3)
    async with machine.daemon(job) as made:  # off for days
        await eventually(lambda: len(machine.runs) == 2 and len(made.journal.read_runs()) == 2)
        assert made.facts("dream")["next_s"] > 0
    [last, first] = made.journal.read_runs("dream")
    assert (first["why"], first["changed"], first["figures"]) == ("daily at 02:30", ["a.md"], {"notes": 1})
    assert last["began"] == machine.now.isoformat() and last["error"] is None


@given(
    last=st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)),
    passed=st.timedeltas(timedelta(0), timedelta(days=3)),
)
def test_a_daily_job_is_due_once_a_day_also_when_summer_time_changes(last: datetime, passed: timedelta) -> None:
    began = last.replace(tzinfo=UTC).timestamp()
    now = began + passed.total_seconds()
    wait = DAILY.wait_s(began, now)
    assert wait is not None
    due = now + wait if wait else now
    assert 0 <= wait <= 25 * 3600
    after = DAILY.wait_s(due, due)  # once it has run, not before tomorrow
    assert after is not None
    there = datetime.fromtimestamp(due + after, BERLIN)
    assert (there.hour, there.minute) in {(2, 30), (3, 30)}, "3:30 on the day that has no 2:30"
    assert there.date() == datetime.fromtimestamp(due, BERLIN).date() + timedelta(days=(after + 1 > 0) * _next(due))


def _next(due: float) -> int:
    """1 if the day's time was over."""
    there = datetime.fromtimestamp(due, BERLIN)
    return int(datetime.combine(there.date(), time(2, 30), BERLIN).timestamp() <= due)


def test_a_clock_that_was_ahead_does_not_stop_a_job() -> None:
    now, year = datetime(2026, 11, 23, tzinfo=UTC).timestamp(), 365 * 86_400
    assert DAILY.wait_s(now + year, now) == 0 and Every(60).wait_s(now + year, now) == 0
    assert (DAILY.wait_s(now + 3600, now) or 0) > 3600, "an hour back does not run it twice"
    assert Every(60).wait_s(now - 30, now) == 30 and Every(60).wait_s(now - year, now) == 0


async def test_one_at_a_time_and_captures_between_its_steps(machine: Machine) -> None:
    at_work, order = 0, list[str]()
    go_on = anyio.Event()

    async def work(turn: JobTurn) -> JobReport | None:
        nonlocal at_work
        at_work += 1
        assert at_work == 1
        await go_on.wait()
        await turn.lull(lambda: False)
        order.append("second step")
        at_work -= 1
        return None

    jobs = [machine.job(name, Every(60), work) for name in ("a", "b")]
    async with machine.daemon(*jobs) as made:
        machine.now += timedelta(minutes=2)
        await eventually(lambda: made.running)
        assert made.next_job() == made.facts("a") and made.facts("a")["running"]
        with pytest.raises(module.Busy):
            await made.run_now("b")

        async def capture() -> None:
            async with made.turn():
                order.append("capture")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(capture)
            await anyio.wait_all_tasks_blocked()
            assert not order
            go_on.set()
        await eventually(lambda: machine.runs == ["a", "b"] and not made.running)
    assert order[:2] == ["capture", "second step"]
    assert not made.journal.read_runs(), "nothing was done"


async def test_failures_back_off_and_are_told(machine: Machine) -> None:
    error: Exception | None = StorageFailed("the disk is full")

    async def work(_: JobTurn) -> JobReport | None:
        if error:
            raise error
        return None

    job = machine.job("a", Every(60), work)
    async with machine.daemon(job) as made:
        machine.now += timedelta(minutes=2)
        await eventually(lambda: made.troubles == {"a": "the disk is full"})
        error = ZeroDivisionError("the text of a note")
        await eventually(lambda: "ZeroDivisionError" in str(made.facts("a")["result"]))
        error = None
        await eventually(lambda: not made.troubles and made.facts("a")["result"] == "nothing to do")
        count = len(machine.runs)
        error = Refused("the vault is read-only")
        machine.now += timedelta(minutes=2)
        await eventually(lambda: made.facts("a")["result"] == "the vault is read-only")
        assert made.facts("a")["failures"] == 0 and len(machine.runs) == count + 1
    assert "text of a note" not in (machine.state / "jobs.jsonl").read_text()


async def test_what_hangs_is_given_up(machine: Machine) -> None:
    async def work(_: JobTurn) -> JobReport | None:
        await anyio.sleep_forever()

    job = machine.job("a", Every(60), work, longest_s=0.05)
    run = await machine.scheduler(job).run_now("a")
    assert run["error"] == "not done after 0 minutes" and run["why"] == module.ASKED


async def test_a_killed_run_is_repeated_and_counts_as_failed(machine: Machine) -> None:
    started = anyio.Event()

    async def work(_: JobTurn) -> JobReport | None:
        started.set()
        await anyio.sleep_forever()

    async with machine.daemon(machine.job("a", DAILY, work)):
        machine.now += timedelta(days=1)
        await started.wait()
    async with machine.daemon(machine.job("a", DAILY)) as made:
        assert made.facts("a")["failures"] == 1
        await eventually(lambda: made.facts("a")["result"] == "a did it")
        assert made.facts("a")["failures"] == 0


async def test_paused_and_off_run_only_when_asked(machine: Machine) -> None:
    jobs = [machine.job(name, Every(60)) for name in ("a", "b", "c")]
    made = machine.scheduler(*jobs)
    await made.set_paused("a", paused=True)
    async with machine.daemon(*jobs, config=JobsConfig(off=("b",))) as made:
        machine.now += timedelta(minutes=2)
        await eventually(lambda: machine.runs == ["c"] and not made.running)
        assert made.facts("a")["paused"] and "jobs.off" in made.facts("b")["off"]
        await made.run_now("b")
        await made.set_paused("a", paused=False)
        await eventually(lambda: machine.runs == ["c", "b", "a"])
        with pytest.raises(NotFound, match="no job"):
            await made.run_now("d")


async def test_without_a_language_model_what_needs_it_waits(machine: Machine) -> None:
    job = Job("a", "asks", Every(60), machine.job("a", Every(60)).run, needs_model=True)
    machine.scheduler(job)
    machine.now += timedelta(days=1)
    assert machine.scheduler(job).wait_s("a") is None


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"a": {"since": "x", "color": 1}}', "\x00"])
async def test_a_damaged_state_is_as_if_new(machine: Machine, damage: str) -> None:
    machine.state.mkdir()
    (machine.state / "jobs.json").write_text(damage)
    run = await machine.scheduler(machine.job("a", DAILY)).run_now("a")
    assert run["error"] is None and json.loads((machine.state / "jobs.json").read_text())["a"]["result"] == "a did it"


@pytest.mark.parametrize("about", ["filed 2 notes", "cannot read notes/secret-plan.md"])
async def test_an_erased_file_is_named_by_no_run_under_way_and_by_no_result(machine: Machine, about: str) -> None:
    begun, is_erased = anyio.Event(), anyio.Event()

    async def work(_: JobTurn) -> JobReport:
        begun.set()
        await is_erased.wait()
        return JobReport(about, ["notes/secret-plan.md", "b.md"], {})

    async with machine.daemon(machine.job("before", DAILY), machine.job("topics", DAILY, work)) as made:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.run_now, "topics")
            await begun.wait()
            await anyio.to_thread.run_sync(made.erase, {"notes/secret-plan.md"})
            is_erased.set()
        await made.run_now("before")
        kept = made.journal.read_runs("topics")
        assert [run["changed"] for run in kept] == ([["b.md"]] if about == "filed 2 notes" else [])
    written = [file.read_text() for file in machine.state.glob("jobs*")]
    assert len(written) == 2 and not any("secret-plan" in text for text in written)
