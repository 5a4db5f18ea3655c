"""What is known of a note's use, and whether that makes it hot, warm or cool. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from typing import NamedTuple

HOT_DAYS, HOT_WITHIN = 3, timedelta(days=14)
"""Used on so many different days of a fortnight. Days count, not uses, because one busy session is no habit; three of
them are more than a piece of work and the look at it on the morning after. Chosen, not measured."""

WARM_WITHIN = timedelta(days=30)
"""Used, stored or edited within so many days: what comes up once a month, such as a release, stays warm."""


class Heat(StrEnum):
    """How much a note is used at present."""

    HOT = "hot"
    WARM = "warm"
    COOL = "cool"


class DayUse(NamedTuple):
    """Of one note on one day: how often a search `found` it and an agent was `told` it (with a prompt or tool call that
    it fitted, or because it asked); how often a session start has `shown` it, which every note does that is always
    loaded; how often it was `muted` then, and `edited` after that day's answers."""

    found: int = 0
    told: int = 0
    shown: int = 0
    muted: int = 0
    edited: int = 0


@dataclass(frozen=True, slots=True)
class NoteUse:
    """A note's use by day, and how many different questions (16 at most) and sessions (32 at most) that was for."""

    days: Mapping[date, DayUse] = field(default_factory=dict[date, DayUse])
    questions: int = 0
    sessions: int = 0
    clients: tuple[str, ...] = ()

    @property
    def total(self) -> DayUse:
        return DayUse(*map(sum, zip(*self.days.values(), strict=True))) if self.days else DayUse()

    @property
    def used_days(self) -> list[date]:
        """When it was found or told, in order: being shown at a session's start says nothing of its use."""
        return sorted(day for day, use in self.days.items() if use.found or use.told)


def heat(use: NoteUse, today: date, written: date | None = None) -> Heat:
    """`written`: when the note was stored or last edited. Days of the future, from a wrong clock, count as today."""
    used = use.used_days
    if sum(today - day < HOT_WITHIN for day in used) >= HOT_DAYS:
        return Heat.HOT
    latest = max([*used, written or date.min])
    return Heat.WARM if today - latest < WARM_WITHIN else Heat.COOL
