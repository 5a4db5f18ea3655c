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

from mcp_memory.core.config import EngineConfig
from tests.eval.convert_locomo import convert
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

SAMPLE = {
    "sample_id": "talk-1",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Bob",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "I painted\na lake.", "blip_caption": "a lake"},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "Lovely!"},
        ],
        "session_2_date_time": "9:05 pm on 8 May, 2023",
        "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "I bought a bicycle."}],
        "session_3_date_time": "9:05 am on 9 May, 2023",
    },
    "qa": [
        {"question": "What did Ada paint?", "answer": "a lake", "evidence": ["D1:1; D2:1"], "category": 1},
        {"question": "When?", "answer": 2023, "evidence": ["D:2:1"], "category": 2},
        {"question": "What did Bob paint?", "adversarial_answer": "a lake", "evidence": ["D1:1"], "category": 5},
        {"question": "What else?", "answer": "nothing", "evidence": ["D"], "category": 4},
    ],
}


def test_sessions_become_entries_of_daily_logs() -> None:
    assert convert(SAMPLE).files == {
        "memory/2023-05-08.md": "# 2023-05-08\n\n## 13:56 Ada and Bob\n\n- Ada: I painted a lake. [image: a lake]\n"
        "- Bob: Lovely!\n\n## 21:05 Ada and Bob\n\n- Bob: I bought a bicycle.\n"
    }


def test_citations_become_lines() -> None:
    converted = convert(SAMPLE)
    lines = converted.files["memory/2023-05-08.md"].splitlines()
    assert [query["id"] for query in converted.queries] == ["talk-1-q000", "talk-1-q001", "talk-1-q002"]
    multi, when, wrong = converted.queries
    assert [lines[gold["line"] - 1] for gold in multi["gold"]] == [
        "- Ada: I painted a lake. [image: a lake]",
        "- Bob: I bought a bicycle.",
    ]
    assert when["answer"] == "2023" and when["answerable"]
    assert not wrong["answerable"] and wrong["gold"] == [] and wrong["near"][0]["line"] == 5


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
