"""Background work gives way to calls that someone waits for, and to nothing else."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import pytest

from mcp_memory.runtime import health
from mcp_memory.runtime.health import IdleDetector, give_way


@pytest.mark.parametrize("is_job", [True, False])
def test_a_job_waits_for_the_end_of_a_call_and_other_work_does_not(
    is_job: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "GIVE_WAY_S", 60.0)
    detector, asked, done = IdleDetector(), threading.Event(), list[str]()
    wait = detector.wait_until_idle

    def told(at_most_s: float) -> None:
        asked.set()
        wait(at_most_s)

    monkeypatch.setattr(detector, "wait_until_idle", told)

    def work() -> None:
        with detector.behind() if is_job else nullcontext():
            give_way()
        done.append("work")
        asked.set()

    thread = threading.Thread(target=work)
    with detector.serving():
        thread.start()
        assert asked.wait(30)
        done.append("call")
        if not is_job:
            thread.join(30)
    thread.join(30)
    assert done == ["call", "work"] if is_job else sorted(done) == ["call", "work"]
    assert not thread.is_alive()


def test_a_job_goes_on_beside_calls_that_never_end() -> None:
    detector = IdleDetector()
    with detector.serving(), detector.behind():
        give_way()
    with detector.behind():
        give_way()  # nobody is served


def test_between_two_waits_a_job_works_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waits = 0.0, list[float]()
    monkeypatch.setattr(health, "monotonic", lambda: now)
    monkeypatch.setattr(health, "_gave_way", threading.local())
    detector = IdleDetector()
    monkeypatch.setattr(detector, "wait_until_idle", waits.append)
    with detector.behind():
        for at in (0.0, 0.001, 0.004, 0.006, 0.007, 0.012):
            now = at
            give_way()
    assert len(waits) == 3


@pytest.mark.anyio
async def test_the_event_loop_never_waits_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    detector = IdleDetector()
    monkeypatch.setattr(detector, "wait_until_idle", lambda _: pytest.fail("it waits"))
    with detector.serving(), detector.behind():
        give_way()
