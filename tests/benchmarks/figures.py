"""A figure beside its floor and its goal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import isinf
from typing import Any, Literal


@dataclass(frozen=True)
class Figure:
    """`goal` limits the ratio to the floor where one was measured, else the value itself; infinite where none is
    set."""

    name: str
    value: float
    unit: str
    goal: float
    floor: float | None = None
    bound: Literal["most", "least"] = "most"
    about: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.floor is None else self.value / self.floor

    @property
    def met(self) -> bool:
        judged = self.value if self.ratio is None else self.ratio
        return judged <= self.goal if self.bound == "most" else judged >= self.goal

    def payload(self) -> dict[str, Any]:
        """`goal` is None where none is set: JSON knows no infinity."""
        goal = None if isinf(self.goal) else self.goal
        return {**asdict(self), "goal": goal, "ratio": self.ratio, "met": self.met}


HEADER = f"{'':52}{'figure':>10} {'unit':9}{'floor':>9}{'ratio':>7}  {'goal':>9}"


def line(figure: Figure) -> str:
    floor = "" if figure.floor is None else f"{figure.floor:.4g}"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    goal = f"{'≤' if figure.bound == 'most' else '≥'} {figure.goal:g}{'' if figure.ratio is None else ' ×'}"
    verdict = "met" if figure.met else "MISSED"
    about = f"  ({figure.about})" if figure.about else ""
    if isinf(figure.goal):
        return f"{figure.name:52}{figure.value:10.4g} {figure.unit:9}{floor:>9}{ratio:>7}  {'–':>9}  {about}".rstrip()
    return f"{figure.name:52}{figure.value:10.4g} {figure.unit:9}{floor:>9}{ratio:>7}  {goal:>9}  {verdict}{about}"


def percentile(values: Iterable[float], share: float) -> float:
    """`share` in percent; the 50th is the median."""
    ordered: Sequence[float] = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))]
