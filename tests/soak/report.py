"""The figures of a soak, for people (Markdown) and for programs (JSON)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.soak.daemon import Figures

WARM_UP_SHARE = 1 / 3
"""Of a life: caches and arenas fill up meanwhile."""
SLOPE_S = 240.0
"""Over less time a slope says nothing."""


@dataclass(frozen=True)
class Sample:
    """`at_s` after the start of the load; `life` is the daemon's how-many-eth start."""

    at_s: float
    life: int
    figures: Figures


@dataclass
class Report:
    """`lost`, `stale`, `unexpected` and `faults` must be empty."""

    asked: Mapping[str, Any]
    times_s: dict[str, list[float]] = field(default_factory=dict)
    load_s: float = 0.0
    samples: list[Sample] = field(default_factory=list)
    at_rest: Figures | None = None
    """Before the load; `at_rest_again` after it, in another life."""
    at_rest_again: Figures | None = None
    troubles: dict[str, int] = field(default_factory=dict)
    starts_s: list[float] = field(default_factory=list)
    stops_s: list[float] = field(default_factory=list)
    excused: dict[str, int] = field(default_factory=dict)
    unexpected: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    error_samples: list[str] = field(default_factory=list)
    answered_appends: int = 0
    asked_again: int = 0
    editor_saves: int = 0
    editor_lines: int = 0
    checkouts: int = 0
    conflict_copies: int = 0
    leftovers: int = 0
    lost: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    fresh_after_s: float | None = None
    idle_cpu_percent: float | None = None
    generator_cpu_percent: float = 0.0
    index: dict[str, int] = field(default_factory=dict)

    @property
    def is_well(self) -> bool:
        return not (self.lost or self.stale or self.unexpected or self.faults)

    @property
    def last_life(self) -> list[Sample]:
        """The samples of the longest undisturbed stretch, its warm-up left out."""
        if not self.samples:
            return []
        ours = [sample for sample in self.samples if sample.life == self.samples[-1].life]
        warm_s = ours[0].at_s + WARM_UP_SHARE * (ours[-1].at_s - ours[0].at_s)
        return [sample for sample in ours if sample.at_s >= warm_s]

    @property
    def rss_mb_per_hour(self) -> float | None:
        """Slope of a straight line through the resident memory of the last life."""
        life = self.last_life
        if not life or life[-1].at_s - life[0].at_s < SLOPE_S:
            return None
        slope, _ = statistics.linear_regression([s.at_s for s in life], [s.figures.rss_mb for s in life])
        return slope * 3600

    def payload(self) -> dict[str, Any]:
        rest = {key: value for key, value in asdict(self).items() if key != "times_s"}
        calls = {name: timing(times) for name, times in sorted(self.times_s.items())}
        return {"well": self.is_well, "rss_mb_per_hour": self.rss_mb_per_hour, "calls": calls, **rest}

    def markdown(self) -> str:
        lines = [
            f"# Soak: {'all is well' if self.is_well else 'NOT WELL'}", "",
            ", ".join(f"{key} {value}" for key, value in self.asked.items() if value is not None), "",
            "| call | count | p50 ms | p99 ms | max ms |", "| --- | ---: | ---: | ---: | ---: |",
        ]  # fmt: skip
        for name, times in sorted(self.times_s.items()):
            t = timing(times)
            lines.append(f"| {name} | {t['count']} | {t['p50_ms']} | {t['p99_ms']} | {t['max_ms']} |")
        lines += ["", "| what | figure |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in self._facts())]
        for title in ("lost", "stale", "faults", "error_samples"):
            if found := getattr(self, title):
                lines += ["", f"## {title.replace('_', ' ')} ({len(found)})", "", *(f"- {each}" for each in found[:30])]
        return "\n".join(lines) + "\n"

    def _facts(self) -> list[tuple[str, object]]:
        life = self.last_life
        calls = sum(len(times) for times in self.times_s.values())
        facts: list[tuple[str, object]] = [
            ("calls a second", f"{calls / self.load_s:.1f}" if self.load_s else "none"),
            ("answered appends", self.answered_appends),
            ("… lost, torn or doubled", len(self.lost)),
            ("stale files at the end", len(self.stale)),
            ("asked again after no answer", self.asked_again),
            ("errors without a reason", _counted(self.unexpected)),
            ("errors during troubles", _counted(self.excused)),
            ("answers `unknown`, asked again", _counted(self.unknown)),
            ("troubles", _counted(self.troubles)),
            ("starts until answered, s", _range(self.starts_s)),
            ("clean stops, s", _range(self.stops_s)),
            ("editors' saves / log lines / checkouts", f"{self.editor_saves} / {self.editor_lines} / {self.checkouts}"),
            ("conflict copies / leftovers", f"{self.conflict_copies} / {self.leftovers}"),
            ("index equals disk after quiet, s", self.fresh_after_s),
            ("index", _counted(self.index)),
        ]
        if life:
            rss = [sample.figures.rss_mb for sample in life]
            facts += [
                ("RSS of the last life, MB", f"{rss[0]:.0f} → {rss[-1]:.0f}, most {max(rss):.0f}"),
                ("RSS slope, MB/h", "too short" if self.rss_mb_per_hour is None else f"{self.rss_mb_per_hour:.1f}"),
                ("descriptors under load", f"{life[0].figures.fds} → {life[-1].figures.fds}"),
                ("threads under load", f"{life[0].figures.threads} → {life[-1].figures.threads}"),
            ]
        for name, figures in (("at rest, before", self.at_rest), ("at rest, after", self.at_rest_again)):
            if figures:
                said = f"{figures.rss_mb:.0f} MB, {figures.fds} descriptors, {figures.threads} threads"
                facts.append((name, said))
        idle = "not measured" if self.idle_cpu_percent is None else f"{self.idle_cpu_percent:.2f} % of one core"
        return [
            *facts,
            ("CPU when idle", idle),
            ("CPU of this load", f"{self.generator_cpu_percent:.0f} % of one core"),
        ]


def timing(times: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times)
    p50, p99 = (ordered[min(len(ordered) - 1, len(ordered) * share // 100)] for share in (50, 99))
    return {
        "count": len(ordered), "p50_ms": round(1e3 * p50, 1), "p99_ms": round(1e3 * p99, 1),
        "max_ms": round(1e3 * ordered[-1], 1),
    }  # fmt: skip


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}" if values else "none"
