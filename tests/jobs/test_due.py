"""When a run is due: quiet decides, the longest wait bounds it, and never two at once; whatever comes in what order."""

from __future__ import annotations

from dataclasses import dataclass

import hypothesis.strategies as st
import pytest
from hypothesis import given

from mcp_memory.jobs.job import AfterQuiet

QUIET_S, LONGEST_S = 10.0, 60.0


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def made() -> tuple[AfterQuiet, Clock]:
    clock = Clock()
    return AfterQuiet(quiet_s=QUIET_S, longest_wait_s=LONGEST_S, clock=clock), clock


@given(pauses=st.lists(st.floats(0, 30), max_size=40), after=st.floats(0, 100))
def test_never_before_quiet_and_always_by_the_longest_wait(pauses: list[float], after: float) -> None:
    schedule, clock = made()
    assert schedule.due_in_s is None
    schedule.note_change()
    first = last = clock.now
    for pause in pauses:
        clock.now += pause
        schedule.note_change()
        last = clock.now
    clock.now += after
    is_due = schedule.due_in_s == 0
    assert is_due == (clock.now >= min(last + QUIET_S, first + LONGEST_S))
    assert schedule.is_overdue == (clock.now >= first + LONGEST_S)
    if not is_due:
        clock.now += schedule.due_in_s or 0
        assert schedule.due_in_s == pytest.approx(0, abs=1e-6), "it is due when it said"


@given(steps=st.lists(st.tuples(st.floats(0, 90), st.sampled_from(["changed", "begin", "end", "again", "off"]))))
def test_never_two_at_once_and_nothing_is_lost(steps: list[tuple[float, str]]) -> None:
    schedule, clock = made()
    running, unseen, again_at = False, False, False
    for pause, step in steps:
        clock.now += pause
        if step == "changed":
            schedule.note_change()
            unseen = True
        elif step == "begin" and schedule.due_in_s == 0:
            assert not running
            schedule.begin()
            running, unseen, again_at = True, False, False
        elif running and step != "begin":
            running = False
            if step == "off":
                schedule.put_off()
                unseen = True
            elif step == "again":
                schedule.look_again(45)
                again_at = True
            schedule.end()
        assert schedule.is_waiting == unseen
        assert (schedule.due_in_s is None) == (running or not (unseen or again_at))
        if not running and (unseen or again_at):
            assert (schedule.due_in_s or 0) <= LONGEST_S


def test_too_little_waits_its_longest_unless_more_comes() -> None:
    schedule, clock = made()
    schedule.note_change()
    clock.now += QUIET_S
    schedule.begin()
    schedule.put_off()
    schedule.end()
    assert schedule.due_in_s == LONGEST_S - QUIET_S
    schedule.note_change()
    assert schedule.due_in_s == QUIET_S
    clock.now += QUIET_S
    schedule.begin()
    schedule.note_change()  # while it was looked at
    schedule.put_off()
    schedule.end()
    assert schedule.due_in_s == QUIET_S
    clock.now += LONGEST_S
    assert schedule.is_overdue and schedule.due_in_s == 0


def test_a_later_look_is_not_waited_for() -> None:
    schedule, clock = made()
    schedule.note_change()
    clock.now += QUIET_S
    schedule.begin()
    schedule.look_again(1000)
    schedule.end()
    assert schedule.due_in_s == 1000
    schedule.note_change()
    assert schedule.due_in_s == QUIET_S
