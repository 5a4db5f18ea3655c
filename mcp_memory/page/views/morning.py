"""The first view: what is due, what waits for a decision, where work stopped, and what changed since the last look."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any

from mcp_memory.core.serializers import Payload
from mcp_memory.page.view import View, Visit

WAITING = ("conflict", "double", "candidate", "proposal")
"""The items worth a morning; the view of reviews has the others, too."""
MOST_WAITING, MOST_CHANGES, MOST_ON_ONE_PAGE = 4, 40, 640
PAUSE = timedelta(minutes=30)
"""How long a person is away before the page counts a new look."""
LOOKED = "looked"
"""A cookie: the time of the look before this one, and of this one."""
STAGES = {
    "Overdue": ("overdue", "was due yesterday"),
    "Today": ("due now", "due today"),
    "Next": ("due tomorrow", "this week"),
}
FEWEST_OF_A_RUN = 4


async def show(visit: Visit) -> Mapping[str, Any]:
    period = Period.of(visit)
    limit = visit.number("n", MOST_CHANGES, MOST_ON_ONE_PAGE)
    due = (await visit.ask("due", project="*"))["commitments"]
    waits = await visit.ask("waiting", only=[*WAITING], limit=MOST_WAITING)
    sessions = (await visit.ask("left_off"))["sessions"]
    changes = await visit.ask("changes", since=period.since, until=period.until, limit=limit, project="*")
    listed = {name: _in_stages(due, stages) for name, stages in STAGES.items()}
    first = due or waits["waiting"] or sessions or changes["changes"]
    is_empty = not first and (await visit.ask("list", limit=1, project="*"))["nothing_stored"]
    return {
        "due": {name: found for name, found in listed.items() if found},
        "later": sum(one["stage"] == "later" for one in due),
        "waiting": waits["waiting"],
        "sessions": sessions,
        "days": list(map(_grouped, _days(changes["changes"]))),
        "more": min(limit * 4, MOST_ON_ONE_PAGE) if changes["further"] and limit < MOST_ON_ONE_PAGE else 0,
        "period": period,
        "is_empty": is_empty,
    }


VIEW = View("morning", "Morning", "What is due, what waits for you, and what changed.", show)


def _in_stages(due: Sequence[Payload], stages: Sequence[str]) -> list[Payload]:
    return [one for one in due if one["stage"] in stages]


class Period:
    """The time whose changes are shown. `name`: its value in the URL."""

    def __init__(self, name: str, title: str, since: datetime | date, until: date | None = None) -> None:
        self.name, self.title = name, title
        self.since, self.until = since.isoformat(), until and until.isoformat()
        day = since.date() if isinstance(since, datetime) else since
        length = (until - day).days if until else 1
        self.earlier = (day - timedelta(days=length)).isoformat()
        self.later = until.isoformat() if until else None
        self.day = day.isoformat()
        self.is_week = length == 7

    @classmethod
    def of(cls, visit: Visit) -> "Period":
        """Return the day or week that the URL names, or else the time since the last look."""
        today = visit.now.date()
        try:
            day = date.fromisoformat(visit.query("day"))
        except ValueError:
            day = None
        if visit.query("week") and day:
            monday = day - timedelta(days=day.weekday())
            return cls("week", f"Week of {monday.day} {monday:%B}", monday, monday + timedelta(days=7))
        if day:
            name = {today: "Today", today - timedelta(days=1): "Yesterday"}.get(day, f"{day:%A}, {day.day} {day:%B}")
            return cls("day", name, day, day + timedelta(days=1))
        return cls("look", "Since your last look", _last_look(visit))


def _last_look(visit: Visit) -> datetime:
    """Return when the person looked before, at least a pause ago; the beginning of the day if they never did."""
    before = visit.now.replace(hour=0, minute=0, second=0, microsecond=0)
    latest = before
    with suppress(ValueError):  # the browser has no cookie of ours yet
        before, latest = map(datetime.fromisoformat, visit.request.cookies.get(LOOKED, "").split("~"))
    if latest.tzinfo is None or before.tzinfo is None or latest > visit.now:  # not ours, or the clock was wrong
        return visit.now.replace(hour=0, minute=0, second=0, microsecond=0)
    if visit.now - latest > PAUSE:
        before = latest
    visit.cookies[LOOKED] = f"{before.isoformat(timespec='seconds')}~{visit.now.isoformat(timespec='seconds')}"
    return before


def _days(changes: Sequence[Payload]) -> list[tuple[str, list[Payload]]]:
    return [(day, list(found)) for day, found in groupby(changes, lambda one: one["at"][:10])]


def _grouped(day: tuple[str, list[Payload]]) -> tuple[str, list[list[Payload]]]:
    """Return the day's changes in groups. Several changes of one run and kind share a group."""
    groups = list[list[Payload]]()
    for (run, _), members in groupby(day[1], lambda one: (one["run"], one["kind"])):
        found = list(members)
        groups += [found] if run and len(found) >= FEWEST_OF_A_RUN else [[one] for one in found]
    return day[0], groups
