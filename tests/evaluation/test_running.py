"""The evaluation measures a copy of a set's vault: nothing else takes part, and an earlier run changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_memory.core.core import EngineConfig
from mcp_memory.embedders.base import EmbedderConfig
from tests.evaluation.context import ContextScore, context_figures
from tests.evaluation.metrics import RetrievalScore
from tests.evaluation.report import EvaluationReport, recall_report, report
from tests.evaluation.running import Variant, brief, recall, run
from tests.evaluation.sets import QuestionSet, read_set

SENTENCES = {
    "queue": "We chose Postgres as the queue since the team already runs one with backups.",
    "deploy": "Deploys run on Fridays after lunch by hand with a written checklist for everybody.",
}


class Site:
    """A set of two answerable questions and another one, measured without a model."""

    def __init__(self, folder: Path) -> None:
        self.set = folder / "my-set"
        self.state = folder / "state"
        self.config = EngineConfig(
            folder / "none", self.state, folder / "models", embedder=EmbedderConfig(provider="none")
        )
        rows: list[dict[str, Any]] = []
        for name, sentence in SENTENCES.items():
            self.write(f"notes/{name}.md", f"# About\n\n{sentence}\n")
            gold = [{"path": f"notes/{name}.md", "line": 3}]
            rows.append({"id": name, "question": f"what about the {name}?", "category": name, "gold": gold})
        rows.append({"id": "none", "question": "who won the match?", "category": "absent", "answerable": False})
        self.ask("queries.jsonl", rows)

    def write(self, path: str, text: str) -> None:
        file = self.set / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def ask(self, name: str, rows: list[dict[str, Any]]) -> None:
        (self.set / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def questions(self, name: str = "") -> QuestionSet:
        return read_set(self.set / name)

    def run(self, questions: QuestionSet | None = None) -> list[RetrievalScore]:
        asked = questions or self.questions()
        (answers,) = anyio.run(run, asked, self.config, [Variant()], self.state, print)
        return answers

    def recall(self, budget: int) -> EvaluationReport:
        questions = self.questions()
        told = anyio.run(recall, questions, self.config, [budget], self.state, print)
        return recall_report(told, questions.lengths())

    def brief(self, name: str) -> list[ContextScore]:
        return anyio.run(brief, self.questions(name), self.config, self.state, print)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_each_question_is_asked_in_order_and_the_set_stays_as_it_is(site: Site) -> None:
    before = {file: file.read_bytes() for file in site.set.rglob("*") if file.is_file()}
    answers = site.run()
    assert [answer.question.id for answer in answers] == ["queue", "deploy", "none"]
    assert answers[0].hits[0].path == "notes/queue.md"
    found = report(answers, site.questions().lengths(), (100,))
    assert found.figure("evidence@100tok").mean == 1.0 and found.aurocs["absent"] == 1.0
    assert {file: file.read_bytes() for file in site.set.rglob("*") if file.is_file()} == before


def test_the_budget_of_memory_recall_pays_for_its_frame(site: Site) -> None:
    assert site.recall(200).figure("evidence@200tok").mean == 1.0
    entries = [f"{SENTENCES['queue']} Said {number} times." for number in range(40)]
    site.write("notes/queue.md", "# About\n\n" + "\n\n".join(entries))
    gold = [{"path": "notes/queue.md", "line": 3 + 2 * number} for number in range(40)]
    site.ask("queries.jsonl", [{"id": "all", "question": "what about the queue?", "gold": gold}])
    searched = report(site.run(), site.questions().lengths(), (200,))
    recalled = site.recall(200)
    assert 0 < recalled.figure("evidence@200tok").mean < searched.figure("evidence@200tok").mean < 0.3
    assert 100 < recalled.tokens[200] <= 200


def test_what_an_agent_is_shown_with_prompts(site: Site) -> None:
    entries = (
        "## 09:00 one\n\n- The queue was full of old letters.\n\n## 10:00 two\n\n- Deploys run after lunch, but not"
    )
    site.write("memory/2026-10-01.md", f"# 2026-10-01\n\n{entries} on Fridays.\n")
    queue, deploy, stopped = "notes/queue.md", "notes/deploy.md", {"path": "memory/2026-10-01.md", "line": 7}
    labels = {"gold": [stopped], "outdated": [deploy], "private": [queue]}
    rows = [
        {"id": "a", "prompt": "which queue with Postgres did the team choose?", "gold": [queue], "category": "queue"},
        {"id": "b", "prompt": "when do deploys run, on Fridays after lunch?", **labels},
        {"id": "c", "prompt": "thanks!", "wanted": False, "gold": [], "category": "chitchat"},
    ]
    site.ask("prompts.jsonl", rows)
    for _ in range(2):  # nothing is remembered of an earlier run
        figures = context_figures(site.brief("prompts.jsonl"))
        assert [figures[category].prompts for category in ("queue", "all", "chitchat", "overall")] == [1, 1, 1, 3]
        means = {metric: interval.mean for metric, interval in figures["overall"].metrics.items()}
        assert (means["context_recall_all"], means["outdated_unmarked"], means["private_told"]) == (1.0, 1.0, 0.0)
        queue_figures = figures["queue"].metrics
        assert 10 < queue_figures["tokens"].mean < 300 and "tokens" not in figures["chitchat"].metrics
        assert 0 < queue_figures["context_precision_chars"].mean < queue_figures["context_precision"].mean <= 1
