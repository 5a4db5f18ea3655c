"""Shows whether everything works: findings, clients, jobs, and what the hooks did over the last weeks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_memory.core.serializers import Payload
from mcp_memory.page.view import Action, View, Visit

WEEKS = 12
PLOT_WIDTH, PLOT_HEIGHT, GAP = 240.0, 56.0, 4.0
"""In units of the drawing, which fills its place."""


async def show(visit: Visit) -> Mapping[str, Any]:
    found = (await visit.ask("doctor"))["findings"]
    status = await visit.ask("status")
    weeks = (await visit.ask("activity", weeks=WEEKS))["weeks"]
    return {
        "problems": [one for one in found if one["severity"] != "info"],
        "remarks": [one for one in found if one["severity"] == "info"],
        "memory": status,
        "clients": list(status["clients"].items()),
        "jobs": (await visit.ask("jobs"))["jobs"],
        "plots": list(_plots(weeks)) if any(week["prompts"] for week in weeks) else [],
    }


@dataclass(frozen=True)
class Bar:
    """A bar of a plot. `about`: its week and value, for a reader that points at it."""

    x: float
    y: float
    width: float
    height: float
    about: str


@dataclass(frozen=True)
class Plot:
    """A figure over weeks, the oldest first. `latest`: the last week's value in words, empty without one."""

    title: str
    latest: str
    bars: Sequence[Bar]


def _plots(weeks: Sequence[Payload]) -> list[Plot]:
    shares = [week["silent"] / week["prompts"] * 100 if week["prompts"] else None for week in weeks]
    return [
        _plot("Prompts a week", "", weeks, [week["prompts"] for week in weeks]),
        _plot("Prompts that got nothing", " %", weeks, shares),
        _plot("Tokens shown with a prompt", "", weeks, [week["tokens"] for week in weeks]),
        _plot("Time of a hook", " ms", weeks, [week["ms"] for week in weeks]),
        _plot("Hooks that failed", "", weeks, [week["failed"] for week in weeks]),
    ]


def _plot(title: str, unit: str, weeks: Sequence[Payload], values: Sequence[float | None]) -> Plot:
    most, step = max((value or 0 for value in values), default=0) or 1, PLOT_WIDTH / len(values)
    bars = list[Bar]()
    for place, (week, value) in enumerate(zip(weeks, values, strict=True)):
        if value is not None:
            height = max(1.0, value / most * PLOT_HEIGHT)
            about = f"week of {week['monday']}: {value:,.0f}{unit}"
            bars.append(Bar(place * step, PLOT_HEIGHT - height, step - GAP, height, about))
    latest = values[-1]
    return Plot(title, "" if latest is None else f"{latest:,.0f}{unit}", bars)


VIEW = View(
    "health",
    "Health",
    "Whether everything works, and what agents were shown over the last weeks.",
    show,
    actions={
        "repair": Action("fix", "Repaired what can be repaired.", fields=()),
        "run-job": Action("jobs", "The job has run.", fields=("name",), fixed={"action": "run"}),
        "pause-job": Action("jobs", "The job is paused.", fields=("name",), fixed={"action": "pause"}),
        "resume-job": Action("jobs", "The job runs again.", fields=("name",), fixed={"action": "resume"}),
    },
)
