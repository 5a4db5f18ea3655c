"""Metrics by hand, and intervals that know what they do not know."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.evaluation.metrics import (
    FoundEvidence,
    RetrievalScore,
    gold_lines,
    score,
)
from tests.evaluation.report import as_json, difference, report
from tests.evaluation.sets import EvalQuestion, GoldSpan

TEXT = "first line\n\n" + "x" * 399 + "\n" + "y" * 399 + "\n"


class Lines:
    """A vault in which every note is `TEXT`, but for one that is not there."""

    def __call__(self, path: str) -> Sequence[int] | None:
        return None if path == "gone.md" else [len(line) for line in TEXT.splitlines(keepends=True)]


def question(*gold: GoldSpan, answerable: bool = True, category: str = "all") -> EvalQuestion:
    return EvalQuestion("q", "?", "", category, answerable, gold)


def hit(path: str, start: int, end: int, text: str = "x" * 400) -> FoundEvidence:
    return FoundEvidence(path, start, end, text, 1.0)


def scores(asked: EvalQuestion, *hits: FoundEvidence, budgets: tuple[int, ...] = (500, 1000, 2000)) -> dict[str, float]:
    return score(RetrievalScore(asked, hits, 0.5, 1.0), Lines(), budgets)


def test_blank_gold_lines_do_not_count_but_the_first_always_does() -> None:
    assert gold_lines(question(GoldSpan("a.md", 1, 3)), Lines()) == {("a.md", 1), ("a.md", 3)}
    assert gold_lines(question(GoldSpan("a.md", 2, 2)), Lines()) == {("a.md", 2)}


def test_only_what_is_read_before_the_budget_is_spent_counts() -> None:
    asked = question(GoldSpan("a.md", 3, 4))
    padding = hit("b.md", 3, 3)
    found = scores(asked, padding, hit("a.md", 3, 4, "x" * 800), budgets=(200, 300))
    assert (found["evidence@200tok"], found["evidence@300tok"], found["all_evidence@2000tok"]) == (0.5, 1.0, 1.0)
    clipped = scores(asked, padding, hit("a.md", 3, 4, "x" * 400), budgets=(200, 300))
    assert clipped["evidence@200tok"] == 1.0  # it paid for as much as it showed


def test_ranks() -> None:
    asked = question(GoldSpan("a.md", 1, 1), GoldSpan("b.md", 1, 1))
    found = scores(asked, hit("c.md", 1, 1), hit("a.md", 1, 1), hit("a.md", 1, 1), hit("b.md", 1, 1))
    assert found["mrr@10"] == 0.5
    assert found["ndcg@10"] == pytest.approx((1 / 1.58496 + 1 / 2.32193) / (1 + 1 / 1.58496), rel=1e-4)
    assert (found["note_recall@1"], found["note_recall@5"], found["line_recall@5"]) == (0.0, 1.0, 1.0)


def test_a_report_by_category() -> None:
    hits = [hit("a.md", 1, 1)]
    easy, hard = (question(GoldSpan(path, 1, 1), category=kind) for path, kind in (("a.md", "easy"), ("b.md", "hard")))
    absent = question(answerable=False, category="absent")
    answers = [
        RetrievalScore(easy, hits, 0.9, 1.0),
        RetrievalScore(hard, hits, 0.7, 2.0),
        RetrievalScore(absent, hits, 0.1, 3.0),
    ]
    found = report(answers, {"": Lines()}, (500,))
    assert found.categories() == ["easy", "hard", "overall"]
    assert [found.figure("evidence@500tok", kind).mean for kind in found.categories()] == [1.0, 0.0, 0.5]
    assert found.aurocs == {"absent": 1.0} and found.latency_ms == {"p50": 2.0, "p95": 3.0}
    assert as_json(found)["categories"]["hard"]["evidence@500tok"]["mean"] == 0.0
    nothing = report([RetrievalScore(each.question, [], 0, 1) for each in answers], {"": Lines()}, (500,))
    assert difference(found, nothing, "evidence@500tok").mean == 0.5
