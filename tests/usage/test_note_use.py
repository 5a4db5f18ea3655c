"""When a note is hot, warm or cool."""

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.usage.note_use import DayUse, Heat, NoteUse, heat

TODAY = date(2026, 11, 21)
AGES = st.sets(st.integers(0, 400), max_size=20)


def used(*ages: int, **counts: int) -> NoteUse:
    return NoteUse({TODAY - timedelta(days=age): DayUse(**(counts or {"found": 1})) for age in ages})


def test_days_of_use_make_a_note_hot_and_starts_do_not():
    assert heat(used(0, 5, 13), TODAY) is Heat.HOT
    assert heat(used(0, 5, 14), TODAY) is Heat.WARM
    assert heat(used(0, found=500), TODAY) is Heat.WARM
    assert heat(used(*range(20), shown=3), TODAY) is Heat.COOL
    assert heat(used(29), TODAY) is Heat.WARM
    assert heat(used(30), TODAY) is Heat.COOL
    assert heat(NoteUse(), TODAY, written=TODAY - timedelta(days=29)) is Heat.WARM
    assert heat(used(-3, -2, -1), TODAY) is Heat.HOT  # a wrong clock


@given(AGES, AGES, st.integers(0, 60))
def test_more_use_never_cools_and_time_never_heats(some: set[int], more: set[int], days: int):
    order = [Heat.COOL, Heat.WARM, Heat.HOT]
    assert order.index(heat(used(*some | more), TODAY)) >= order.index(heat(used(*some), TODAY))
    assert order.index(heat(used(*some), TODAY + timedelta(days=days))) <= order.index(heat(used(*some), TODAY))
