"""What silence is worth for people who taught it nothing: lower bounds of what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from mcp_memory.engine.engine_config import EngineConfig
from mcp_memory.evaluation.metrics import auroc, share_below
from mcp_memory.evaluation.running import Variant, run
from mcp_memory.evaluation.sets import read_set
from mcp_memory.index.confidence_config import UNWANTED

FOLDER = Path(__file__).with_name("strangers")


@pytest.mark.parametrize(("name", "least_auroc"), [("embedded", 0.8), ("ecology", 0.88), ("startup", 0.85)])
def test_prompts_of_a_stranger(name: str, least_auroc: float, tmp_path: Path, model_cache: Path) -> None:
    prompts = read_set(FOLDER / name / "prompts.jsonl")
    rows = [json.loads(line) for line in (FOLDER / name / "prompts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) == 160
    assert all((FOLDER / name / "vault" / path).is_file() for row in rows for path in row["gold"])
    (answers,) = anyio.run(run, prompts, EngineConfig(tmp_path, tmp_path, model_cache), [Variant()], tmp_path, print)
    wanted = [answer.confidence for answer in answers if answer.question.answerable]
    others = [answer.confidence for answer in answers if not answer.question.answerable]
    assert (auroc(wanted, others) or 0) >= least_auroc
    assert share_below(others, UNWANTED) - share_below(wanted, UNWANTED) >= 0.45
