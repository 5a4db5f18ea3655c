"""The report: what the hooks put in front of agents, from the lines of their log. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_memory.errors import DeadlineExceeded

LATE = frozenset({"over_budget", DeadlineExceeded.code})
"""The causes of a call that would have taken longer than it may: the command's own clock, or the daemon's."""


@dataclass(frozen=True, slots=True)
class SessionReport:
    """`calls` of the hook, of which each was `given` something, `silent` or `failed`; `notes` are ids, each once, in
    the order in which they were given. `last` is ISO 8601."""

    client: str
    session: str
    last: str
    calls: int
    given: int
    silent: int
    failed: int
    tokens: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HooksReport:
    """`sessions`, the latest last. Times are of the whole process, in milliseconds, and None without a call; `failures`
    by cause count what belongs to no session, too."""

    sessions: tuple[SessionReport, ...] = ()
    prompts: int = 0
    silent_prompts: int = 0
    tokens_per_prompt: float | None = None
    """The median of those that were given something."""
    p50_ms: float | None = None
    p99_ms: float | None = None
    failures: Mapping[str, int] = field(default_factory=dict[str, int])
    degraded: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of the prompts, how many may have been told less than they could, by the reason."""
    late_starts: int = 0
    late_prompts: int = 0
    """Silent because the deadline was over."""
    starts: int = 0
    asked_prompts: int = 0
    """All that there were of each, with those that failed."""


def report(lines: Iterable[Mapping[str, Any]], sessions: int) -> HooksReport:
    """Of the last so many sessions. Lines in the order in which they were written."""
    by_session: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    homeless: list[Mapping[str, Any]] = []
    for line in lines:
        key = str(line.get("client", "")), str(line.get("session", ""))
        if not key[1]:
            homeless.append(line)
            continue
        by_session[key] = [*by_session.pop(key, []), line]  # the one that was heard of last comes last
    kept = dict(list(by_session.items())[-sessions:])
    calls = [line for each in kept.values() for line in each]
    prompts = [line for line in calls if line.get("event") == "prompt" and line.get("outcome") != "failed"]
    given = [_number(line, "tokens") for line in prompts if line.get("outcome") == "given"]
    times = [_number(line, "ms") for line in calls]
    everything = [*calls, *homeless]
    starts, asked_prompts = _of("session-start", everything), _of("prompt", everything)
    return HooksReport(
        sessions=tuple(_session(client, name, each) for (client, name), each in kept.items()),
        prompts=len(prompts),
        silent_prompts=len(prompts) - len(given),
        tokens_per_prompt=_percentile(given, 50),
        p50_ms=_percentile(times, 50),
        p99_ms=_percentile(times, 99),
        failures=dict(Counter(str(line.get("cause")) for line in everything if line.get("outcome") == "failed")),
        degraded=dict(Counter(str(line["degraded"]) for line in prompts if line.get("degraded"))),
        late_starts=count_late(starts),
        late_prompts=count_late(asked_prompts),
        starts=len(starts),
        asked_prompts=len(asked_prompts),
    )


def count_late(calls: Iterable[Mapping[str, Any]]) -> int:
    """How many of these lines tell of a call that was silent because its deadline was over."""
    return sum(line.get("outcome") == "failed" and line.get("cause") in LATE for line in calls)


def _of(event: str, lines: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [line for line in lines if line.get("event") == event]


def _session(client: str, name: str, lines: Sequence[Mapping[str, Any]]) -> SessionReport:
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
        notes=tuple(dict.fromkeys(note for line in lines for note in _notes(line))),
    )


def _notes(line: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(note) for note in line.get("notes") or ())


def _number(line: Mapping[str, Any], key: str) -> float:
    value = line.get(key)
    return float(value) if isinstance(value, (int, float)) else 0.0


def _percentile(values: Sequence[float], share: float) -> float | None:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))] if ordered else None
