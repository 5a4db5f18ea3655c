"""Reports the figures of a run by category, and what each part of the search adds. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_memory.evaluation.metrics import (
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
from mcp_memory.evaluation.sets import LineLengths
from mcp_memory.search.confidence_config import UNSURE

OVERALL = "overall"
ANSWERABLE = "answerable"
THRESHOLDS = (0.1, 0.3, 0.5, 0.7)
"""Of confidence; the configured one, below which an answer is called weak, is shown among them."""


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """`scores`: of each answerable question, by metric, in order. `kinds`: its category."""

    scores: Sequence[Mapping[str, float]]
    kinds: Sequence[str]
    aurocs: Mapping[str, float]
    """Answerable against each kind of unanswerable ones, by confidence."""
    latency_ms: Mapping[str, float]
    confidences: Mapping[str, Sequence[float]] = field(default_factory=dict[str, list[float]])
    """Of the `ANSWERABLE` questions, and of each kind of unanswerable ones."""
    thresholds: Sequence[float] = ()

    def silenced(self, kind: str, threshold: float) -> float:
        """The share of these questions that would get no answer."""
        return share_below(self.confidences[kind], threshold)

    @property
    def metrics(self) -> list[str]:
        return list(self.scores[0]) if self.scores else []

    def values(self, metric: str, category: str = OVERALL) -> list[float]:
        return [each[metric] for each, kind in zip(self.scores, self.kinds, strict=True) if category in (OVERALL, kind)]

    def figure(self, metric: str, category: str = OVERALL) -> Interval:
        return interval(self.values(metric, category))

    def categories(self) -> list[str]:
        found = list(dict.fromkeys(self.kinds))
        return [*found, OVERALL] if len(found) > 1 else [OVERALL]


def report(
    answers: Sequence[RetrievalScore], lengths: Mapping[str, LineLengths], budgets: Sequence[int], bar: float = UNSURE
) -> EvaluationReport:
    """`lengths`: of each vault's lines, by the vault's name; `bar`: a threshold of confidence to be shown too."""
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


def recall_report(told: Sequence[RecallScore], lengths: Mapping[str, LineLengths]) -> EvaluationReport:
    """Of the evidence alone."""
    scores = [recall_score(each, lengths[each.question.vault]) for each in told]
    return EvaluationReport(scores, [each.question.category for each in told], {}, {})


def difference(whole: EvaluationReport, ablated: EvaluationReport, metric: str) -> Interval:
    """What the ablated part adds to a metric: positive where it helps."""
    return paired(ablated.values(metric), whole.values(metric))


def as_rows(answers: Sequence[RetrievalScore]) -> Iterator[str]:
    """A run file's lines: what came back, best first, as JSON."""
    for answer in answers:
        hits = [
            {
                "path": hit.path,
                "start_line": hit.start_line,
                "end_line": hit.end_line,
                "score": hit.score,
                "text": hit.text,
            }
            for hit in answer.hits
        ]
        row = {"id": answer.question.id, "hits": hits, "abstain": answer.confidence, "latency_ms": answer.latency_ms}
        yield json.dumps(row, ensure_ascii=False)


def as_json(found: EvaluationReport) -> dict[str, Any]:
    """Each figure with its interval, by category and metric."""
    return {
        "categories": {
            category: {"n": len(found.values(found.metrics[0], category))}
            | {metric: _spread(found.figure(metric, category)) for metric in found.metrics}
            for category in (found.categories() if found.scores else [])
        },
        "auroc": dict(found.aurocs),
        "silenced": {
            kind: {f"{threshold:g}": round(found.silenced(kind, threshold), 4) for threshold in found.thresholds}
            for kind in found.confidences
        },
        "latency_ms": {name: round(value, 2) for name, value in found.latency_ms.items()},
    }


def _spread(figure: Interval) -> dict[str, float]:
    return {"mean": round(figure.mean, 4), "low": round(figure.low, 4), "high": round(figure.high, 4)}
