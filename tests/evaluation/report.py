"""Computes the figures of a run by category, and what each part of the search adds. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mcp_memory.search.thresholds import UNSURE
from tests.evaluation.metrics import (
    Interval,
    RecallScore,
    RetrievalScore,
    auroc,
    interval,
    paired,
    recall_score,
    score,
    share_below,
)
from tests.evaluation.sets import LineLengths

OVERALL = "overall"
ANSWERABLE = "answerable"
THRESHOLDS = (0.1, 0.3, 0.5, 0.7)
"""Thresholds of confidence that are shown beside the configured one."""


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """`scores`: one table of metrics for each answerable question; `kinds`: their categories, in the same order."""

    scores: Sequence[Mapping[str, float]]
    kinds: Sequence[str]
    aurocs: Mapping[str, float]
    """Of the confidences of answerable questions against those of each unanswerable category."""
    latency_ms: Mapping[str, float]
    confidences: Mapping[str, Sequence[float]] = field(default_factory=dict[str, list[float]])
    """Of the `ANSWERABLE` questions, and of each unanswerable category."""
    thresholds: Sequence[float] = ()
    tokens: Mapping[int, float] = field(default_factory=dict[int, float])
    """Of what `memory_recall` returns within each budget, the mean."""

    def silenced(self, kind: str, threshold: float) -> float:
        """Returns the share of these questions that would get no answer."""
        return share_below(self.confidences[kind], threshold)

    @property
    def metrics(self) -> list[str]:
        return list(self.scores[0]) if self.scores else []

    def values(self, metric: str, category: str = OVERALL) -> list[float]:
        return [row[metric] for row, kind in zip(self.scores, self.kinds, strict=True) if category in (OVERALL, kind)]

    def figure(self, metric: str, category: str = OVERALL) -> Interval:
        return interval(self.values(metric, category))

    def categories(self) -> list[str]:
        found = list(dict.fromkeys(self.kinds))
        return [*found, OVERALL] if len(found) > 1 else [OVERALL]


def report(
    answers: Sequence[RetrievalScore], lengths: Mapping[str, LineLengths], budgets: Sequence[int], bar: float = UNSURE
) -> EvaluationReport:
    """`lengths`: line lengths by the vault's name; `bar`: a further threshold of confidence to show."""
    asked = [answer for answer in answers if answer.question.answerable]
    sure = [answer.confidence for answer in asked]
    others: dict[str, list[float]] = {}
    for answer in answers:
        if not answer.question.answerable:
            others.setdefault(answer.question.category, []).append(answer.confidence)
    took = sorted(answer.latency_ms for answer in answers)
    return EvaluationReport(
        [score(answer, lengths[answer.question.vault], budgets) for answer in asked],
        [answer.question.category for answer in asked],
        {kind: found for kind, values in others.items() if (found := auroc(sure, values)) is not None},
        {"p50": took[len(took) // 2], "p95": took[min(len(took) - 1, len(took) * 95 // 100)]} if took else {},
        ({ANSWERABLE: sure} if sure else {}) | others,
        sorted({*THRESHOLDS, bar}),
    )


def recall_report(answers: Sequence[RecallScore], lengths: Mapping[str, LineLengths]) -> EvaluationReport:
    """Reports the evidence and the tokens alone."""
    scores = [recall_score(answer, lengths[answer.question.vault]) for answer in answers]
    budgets = answers[0].tokens if answers else ()
    tokens = {budget: interval([answer.tokens[budget] for answer in answers]).mean for budget in budgets}
    return EvaluationReport(scores, [answer.question.category for answer in answers], {}, {}, tokens=tokens)


def difference(whole: EvaluationReport, ablated: EvaluationReport, metric: str) -> Interval:
    """Returns what the ablated part adds to a metric; positive if it helps."""
    return paired(ablated.values(metric), whole.values(metric))


def as_rows(answers: Sequence[RetrievalScore]) -> Iterator[str]:
    """Yields a run file's lines: the hits of each question, best first, as JSON."""
    names = ("path", "start_line", "end_line", "score", "text")
    for answer in answers:
        hits = [{name: getattr(hit, name) for name in names} for hit in answer.hits]
        row = {"id": answer.question.id, "hits": hits, "abstain": answer.confidence, "latency_ms": answer.latency_ms}
        yield json.dumps(row, ensure_ascii=False)


def as_json(found: EvaluationReport) -> dict[str, Any]:
    """Returns each figure with its interval, by category and metric."""
    return {
        "categories": {
            category: {"n": len(found.values(found.metrics[0], category))}
            | {metric: _rounded(asdict(found.figure(metric, category)), 4) for metric in found.metrics}
            for category in (found.categories() if found.scores else [])
        },
        "auroc": dict(found.aurocs),
        "silenced": {
            kind: _rounded({f"{bar:g}": found.silenced(kind, bar) for bar in found.thresholds}, 4)
            for kind in found.confidences
        },
        "latency_ms": _rounded(found.latency_ms, 2),
        **({"tokens": dict(found.tokens)} if found.tokens else {}),
    }


def _rounded(figures: Mapping[str, float], digits: int) -> dict[str, float]:
    return {name: round(value, digits) for name, value in figures.items()}
