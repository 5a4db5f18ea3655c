"""Sums up the texts that the hooks gave to agents, from the lines of their log. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_memory.errors import DeadlineExceeded

LATE = frozenset({"over_budget", DeadlineExceeded.code})
"""The causes of a call that ran out of time: by the command's own clock, or the daemon's."""

LIMITED = {
    "session-start": "session start",
    "prompt": "prompt",
    "before-tool": "tool call",
    "after-tool": "tool result",
    "subagent-start": "sub-agent start",
}
"""The moments at which an agent gets nothing if the hook is late → their names in messages."""

Line = Mapping[str, Any]


@dataclass(frozen=True)
class SessionReport:
    """The calls of one session. `given`, `silent` and `failed` count the `calls` by their outcome. `notes`: ids without
    duplicates, in the order in which they were given. `last`: ISO 8601."""

    client: str
    session: str
    last: str
    calls: int
    given: int
    silent: int
    failed: int
    tokens: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class HooksReport:
    """The calls of all sessions. `sessions`: the latest first. `tokens_per_prompt`: the median over prompts that got a
    text. Times are of the whole process, None without a call. `failures` by cause, including calls without a session.
    `degraded`: prompts that may have got less than usual, by reason. `late`: see `count_late`."""

    sessions: tuple[SessionReport, ...]
    prompts: int
    silent_prompts: int
    tokens_per_prompt: float | None
    p50_ms: float | None
    p99_ms: float | None
    failures: Mapping[str, int]
    degraded: Mapping[str, int]
    late: Mapping[str, tuple[int, int]]


def report(lines: Iterable[Line], sessions: int) -> HooksReport:
    """Report on the last `sessions` sessions. `lines` are in the order in which they were written."""
    by_session: dict[tuple[str, str], list[Line]] = {}
    without_session: list[Line] = []
    for line in lines:
        key = str(line.get("client", "")), str(line.get("session", ""))
        if key[1]:
            by_session[key] = [*by_session.pop(key, []), line]  # the latest session comes last
        else:
            without_session.append(line)
    kept = dict(list(by_session.items())[-sessions:])
    calls = [line for session in kept.values() for line in session]
    prompts = [line for line in calls if line.get("event") == "prompt" and line.get("outcome") != "failed"]
    tokens = [_number(line, "tokens") for line in prompts if line.get("outcome") == "given"]
    times = [_number(line, "ms") for line in calls]
    everything = [*calls, *without_session]
    return HooksReport(
        sessions=tuple(_session(*key, kept[key]) for key in reversed(kept)),
        prompts=len(prompts),
        silent_prompts=len(prompts) - len(tokens),
        tokens_per_prompt=_percentile(tokens, 50),
        p50_ms=_percentile(times, 50),
        p99_ms=_percentile(times, 99),
        failures=dict(Counter(str(line.get("cause")) for line in everything if line.get("outcome") == "failed")),
        degraded=dict(Counter(str(line["degraded"]) for line in prompts if line.get("degraded"))),
        late=count_late(everything),
    )


def count_late(lines: Iterable[Line], latest: int = 0) -> dict[str, tuple[int, int]]:
    """Map each moment with late calls to two numbers: silent calls whose deadline had passed, and all calls, failed
    ones included. Only the `latest` calls of each moment are used, 0 for all."""
    calls: dict[str, list[bool]] = {event: [] for event in LIMITED}
    for line in lines:
        if (event := str(line.get("event"))) in calls:
            calls[event].append(line.get("outcome") == "failed" and line.get("cause") in LATE)
    return {event: (sum(late[-latest:]), len(late[-latest:])) for event, late in calls.items() if any(late[-latest:])}


def _session(client: str, name: str, lines: Sequence[Line]) -> SessionReport:
    outcomes = Counter(str(line.get("outcome")) for line in lines)
    return SessionReport(
        client=client,
        session=name,
        last=str(lines[-1].get("at", "")),
        calls=len(lines),
        given=outcomes["given"],
        silent=outcomes["silent"],
        failed=outcomes["failed"],
        tokens=int(sum(_number(line, "tokens") for line in lines)),
        notes=tuple(dict.fromkeys(str(note) for line in lines for note in line.get("notes") or ())),
    )


def _number(line: Line, key: str) -> float:
    value = line.get(key)
    return float(value) if isinstance(value, (int, float)) else 0.0


def _percentile(values: Sequence[float], share: float) -> float | None:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))] if ordered else None
