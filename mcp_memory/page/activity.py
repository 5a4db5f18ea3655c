"""Adds up, week by week, what the hooks showed to agents, from their log."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from statistics import median

from mcp_memory.core.core import Core
from mcp_memory.core.serializers import Payload
from mcp_memory.runtime.json_lines import Facts, JsonLines
from mcp_memory.runtime.paths import HOOKS_LOG
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread

MOST_WEEKS = 26
MOST_BYTES = 1_000_000
"""The size at which the hooks make a full file the older one of two."""


@dataclass(frozen=True)
class ActivityRequest:
    """The figures of the last `weeks`."""

    weeks: int = 12


@dataclass(frozen=True)
class Week:
    """The calls of the hooks in a week that starts on `monday`. `silent`: prompts that got nothing. `tokens`: the
    median of a prompt that got something. `ms`: the median of all calls. The last two are None without such a call."""

    monday: date
    prompts: int
    silent: int
    failed: int
    tokens: float | None
    ms: float | None


async def activity(core: Core, request: ActivityRequest) -> Payload:
    """Return the figures of each week, the oldest first. Raises StorageFailed if the log can't be read in time."""
    today = core.clock().astimezone(core.vault.layout.tz).date()
    weeks = min(max(1, request.weeks), MOST_WEEKS)

    def read() -> list[Week]:
        log = JsonLines(core.config.state / HOOKS_LOG, most_bytes=MOST_BYTES)
        return add_up(log.read(), today, weeks)

    found = await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="reading the log of the hooks")
    return {"weeks": [{**asdict(week), "monday": week.monday.isoformat()} for week in found]}


def add_up(lines: Iterable[Facts], today: date, weeks: int) -> list[Week]:
    """Return the last `weeks`, the one of `today` last."""
    by_monday = defaultdict[str, list[Facts]](list)
    for line in lines:
        by_monday[_monday(date.fromisoformat(str(line["at"])[:10])).isoformat()].append(line)
    this = _monday(today)
    mondays = [this - timedelta(weeks=back) for back in reversed(range(weeks))]
    return [_week(monday, by_monday[monday.isoformat()]) for monday in mondays]


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _week(monday: date, lines: Sequence[Facts]) -> Week:
    answered = [line for line in lines if line.get("outcome") != "failed"]
    prompts = [line for line in answered if line.get("event") == "prompt"]
    tokens = [float(line["tokens"]) for line in prompts if line.get("outcome") == "given"]
    times = [float(line["ms"]) for line in answered]
    return Week(
        monday=monday,
        prompts=len(prompts),
        silent=len(prompts) - len(tokens),
        failed=len(lines) - len(answered),
        tokens=median(tokens) if tokens else None,
        ms=median(times) if times else None,
    )
