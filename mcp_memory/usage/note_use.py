"""The use of a note, and whether that makes it hot, warm or cool. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from typing import NamedTuple

HOT_DAYS, HOT_WITHIN = 3, timedelta(days=14)
"""The number of days on which a hot note was used, and the time that these days must be in. Days are counted, not uses,
because a busy session isn't a habit. Three days are more than a piece of work and a look at it on the next morning.
Chosen, not measured."""

WARM_WITHIN = timedelta(days=30)
"""The time within which a warm note was used, stored or edited: a monthly topic, such as a release, stays warm."""


class Heat(StrEnum):
    """The heat of a note: how much it is used at present."""

    HOT = "hot"
    WARM = "warm"
    COOL = "cool"


class DayUse(NamedTuple):
    """The use of a note on a day, as numbers of times. `found`: a search found it. `told`: an agent got it, with a
    prompt or tool call that it fitted, or because the agent asked. `shown`: it was in a session's start, like all
    always-loaded notes. `muted`: it was muted. `edited`: it was edited after that day's answers."""

    found: int = 0
    told: int = 0
    shown: int = 0
    muted: int = 0
    edited: int = 0


SHARE_UNUSED, SHARE_USED = 7.5, 5.0
"""The unused and used showings that are assumed before any is counted, so that a note keeps its bar if two fifths of
its showings are used: as many as in a lived week, repeated four times. With a quarter, more noise came sooner there."""

LEAST_ODDS, MOST_ODDS = 3 / 7, 3 / 2
"""The limits of `ShowingOutcome.odds`. Ten showings without a use reach the first, which raises a bar of .3 to .5;
three uses reach the second, which lowers it to .22."""


class ShowingOutcome(NamedTuple):
    """How often an agent of a project got a note unasked, and how often it then used the note."""

    shown: int = 0
    used: int = 0

    @property
    def odds(self) -> float:
        """The factor of the odds that the note helps: (1 + used / 5) / (1 + unused / 7.5), within the limits."""
        odds = (1 + self.used / SHARE_USED) / (1 + (self.shown - self.used) / SHARE_UNUSED)
        return min(max(odds, LEAST_ODDS), MOST_ODDS)


def with_odds(probability: float, factor: float) -> float:
    """Return the probability with its odds multiplied by a factor."""
    return factor * probability / (1 + (factor - 1) * probability)


@dataclass(frozen=True)
class NoteUse:
    """The use of a note by day, and the number of different questions (16 at most) and sessions (32 at most).
    `used`: how often an agent of the project used it after getting it unasked."""

    days: Mapping[date, DayUse] = field(default_factory=dict[date, DayUse])
    questions: int = 0
    sessions: int = 0
    clients: tuple[str, ...] = ()
    used: int = 0

    @property
    def total(self) -> DayUse:
        return DayUse(*map(sum, zip(*self.days.values(), strict=True))) if self.days else DayUse()

    @property
    def used_days(self) -> list[date]:
        """Return the days with a `found` or `told` use, in order. A session's start shows notes whether they are used
        or not."""
        return sorted(day for day, use in self.days.items() if use.found or use.told)


def heat(use: NoteUse, today: date, written: date | None = None) -> Heat:
    """Return the heat of a note. `written`: when the note was stored or last edited. Days of the future, from a wrong
    clock, are treated as today."""
    used = use.used_days
    if sum(today - day < HOT_WITHIN for day in used) >= HOT_DAYS:
        return Heat.HOT
    latest = max([*used, written or date.min])
    return Heat.WARM if today - latest < WARM_WITHIN else Heat.COOL
