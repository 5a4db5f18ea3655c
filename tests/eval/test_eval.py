"""The converter, and on the development sets, where these are at hand, the quality that search must keep.

The figures of the parts are the worst of three precisions, and a bound is two questions less: see `test_strangers`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_memory.core.core import EngineConfig
from tests.evaluation.metrics import RetrievalScore
from tests.evaluation.report import as_rows, report
from tests.evaluation.running import Variant, run
from tests.evaluation.sets import read_set
from tests.support.question_sets import ROOM
from tests.support.world import EXHAUSTIVE

SETS = Path(os.environ.get("MCP_MEMORY_EVAL_SETS", Path(__file__).parents[3] / "shared" / "eval"))

BUDGETS = (500, 1000, 2000)

WHOLE = {"locomo-dev": (0.84, 0.895, 0.93), "docs-dev": (0.65, 0.78, 0.86)}
"""Evidence within the budgets: what was measured, less a point or more of noise."""

PART = {"locomo-dev": ("conv-26/", "conv-30/"), "docs-dev": ("docs/httpx/", "docs/fastapi/advanced/")}
"""What is asked where not all day may be taken, a third of each: a minute goes into the vectors of the whole."""

OF_PART = {"locomo-dev": (0.870, 0.908, 0.944), "docs-dev": (0.754, 0.902, 0.934)}


@pytest.mark.parametrize("name", WHOLE)
def test_evidence_found(name: str, tmp_path: Path, model_cache: Path) -> None:
    if not (SETS / name / "queries.jsonl").is_file():
        pytest.skip(f"the evaluation sets are no part of the repository: none at {SETS}")
    folder = SETS / name if EXHAUSTIVE else part_of(name, tmp_path / name)
    questions = read_set(folder)
    answerable = sum(question.answerable for question in questions.questions)
    least = WHOLE[name] if EXHAUSTIVE else [figure - ROOM / answerable for figure in OF_PART[name]]
    config = EngineConfig(tmp_path, tmp_path, model_cache)
    (answers,) = anyio.run(run, questions, config, [Variant()], tmp_path / "state", print)
    whole = report(answers, questions.lengths(), BUDGETS)
    found = [whole.figure(f"evidence@{tokens}tok").mean for tokens in BUDGETS]
    assert all(got >= bound for got, bound in zip(found, least, strict=True)), found
    if name == "locomo-dev":
        assert whole.aurocs["absent"] > 0.87
    told = score_py(folder, answers)
    assert whole.aurocs == pytest.approx(told.get("auroc", {}))
    for category, figures in told["categories"].items():
        for metric, value in figures.items():
            if metric != "n":
                assert whole.figure(metric, category).mean == pytest.approx(value), (category, metric)


def part_of(name: str, folder: Path) -> Path:
    """The folder, with some of a set's notes and the questions that these answer."""
    for each in PART[name]:
        shutil.copytree(SETS / name / "vault" / each, folder / "vault" / each)
    kept: list[str] = []
    for line in (SETS / name / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        places = [f"{row['conv']}/{gold['path']}" for gold in row["gold"]] or [f"{row['conv']}/"]
        if all(place.startswith(PART[name]) for place in places):
            kept.append(line)
    (folder / "queries.jsonl").write_text("\n".join(kept), encoding="utf-8")
    return folder


def score_py(folder: Path, answers: list[RetrievalScore]) -> dict[str, Any]:
    """What the sets' own scorer makes of the same answers."""
    spec = importlib.util.spec_from_file_location("score", SETS / "score.py")
    assert spec and spec.loader
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    queries = scorer.read_jsonl(folder / "queries.jsonl")
    return scorer.score(queries, [json.loads(row) for row in as_rows(answers)], folder / "vault")
