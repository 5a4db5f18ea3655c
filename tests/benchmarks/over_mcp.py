"""What an agent gets: the questions of a set, asked of a daemon's tools over MCP."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

from mcp_memory.text.tokens import count_tokens
from tests.benchmarks.calls import Tool
from tests.benchmarks.figures import Figure
from tests.benchmarks.site import Daemon, fresh
from tests.evaluation.metrics import (
    BUDGETS,
    FoundEvidence,
    Line,
    LineLengths,
    RecallScore,
    RetrievalScore,
    gold_lines,
)
from tests.evaluation.report import EvaluationReport, difference, recall_report, report
from tests.evaluation.running import HITS
from tests.evaluation.sets import EvalQuestion, QuestionSet, notes_of


def over_mcp(questions: QuestionSet) -> Iterator[Figure]:
    answers: list[RetrievalScore] = []
    told: list[RecallScore] = []
    for vault, asked in questions.by_vault().items():
        with fresh() as site:
            for note in notes_of(vault):
                (site.vault / note).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(vault / note, site.vault / note)
            with site.daemon() as daemon:
                daemon.until_complete()
                answers += _searched(daemon, asked)
                told += _recalled(daemon, [each for each in asked if each.answerable], vault, questions.lengths())
    searched, recalled = report(answers, questions.lengths(), BUDGETS), recall_report(told, questions.lengths())
    yield from _figures(f"{questions.name}: memory_search over MCP", searched, recalled.metrics)
    beside = [difference(recalled, searched, metric) for metric in recalled.metrics]
    less = " ".join(f"{each.mean:+.3f}{'*' if each.excludes_zero else ''}" for each in beside)
    yield from _figures(f"{questions.name}: memory_recall over MCP", recalled, recalled.metrics, f"beside hits {less}")


def _searched(daemon: Daemon, asked: Sequence[EvalQuestion]) -> Iterator[RetrievalScore]:
    search = Tool(daemon.port, "memory_search", daemon.token)
    for question in asked:
        start = perf_counter()
        found = search.call({"query": question.text, "limit": HITS})["structuredContent"]
        took_ms = (perf_counter() - start) * 1e3
        yield RetrievalScore(question, [_found(hit) for hit in found["hits"]], found["confidence"], took_ms)


def _found(hit: dict[str, Any]) -> FoundEvidence:
    return FoundEvidence(hit["path"], hit["start_line"], hit["end_line"], hit["snippet"], hit["score"])


def _recalled(
    daemon: Daemon, asked: Sequence[EvalQuestion], vault: Path, lengths: LineLengths
) -> Iterator[RecallScore]:
    """Evidence is shown if its line stands in the answer."""

    def text_of(line: Line) -> str:
        return (vault / line[0]).read_text(encoding="utf-8").split("\n")[line[1] - 1].strip()

    recall = Tool(daemon.port, "memory_recall", daemon.token)
    for question in asked:
        shown, tokens = {}, {}
        for budget in BUDGETS:
            text = recall.call({"query": question.text, "budget_tokens": budget})["content"][0]["text"]
            shown[budget] = {line for line in gold_lines(question, lengths) if text_of(line) in text}
            tokens[budget] = count_tokens(text)
        yield RecallScore(question, shown, tokens)


def _figures(name: str, found: EvaluationReport, metrics: Sequence[str], about: str = "") -> Iterator[Figure]:
    for metric in metrics:
        yield Figure(f"{name}, {metric}", found.figure(metric).mean, "of all", inf, bound="least", about=about)
        about = ""
