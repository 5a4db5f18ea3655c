"""What silence is worth for people who taught it nothing: lower bounds of what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from mcp_memory.engine.engine_config import EngineConfig
from mcp_memory.engine.schooling import examples
from mcp_memory.evaluation.metrics import auroc, share_below
from mcp_memory.evaluation.running import Variant, run
from mcp_memory.evaluation.sets import read_set
from mcp_memory.index.confidence_config import UNWANTED
from tests.engine.world import EXHAUSTIVE

FOLDER = Path(__file__).with_name("strangers")

MORE = pytest.mark.skipif(not EXHAUSTIVE, reason="two people of five are enough for each run; MCP_MEMORY_EXHAUSTIVE=1")

SAID_BY_MANY = 20
"""Characters: `thanks!` is nobody's own."""


@pytest.mark.parametrize(
    ("name", "least_auroc", "most_silenced", "least_silent"),
    [
        ("ecology", 0.94, 0.1, 0.78),  # the only one that had no part in choosing anything
        pytest.param("embedded", 0.91, 0.1, 0.74, marks=MORE),
        pytest.param("startup", 0.95, 0.03, 0.73, marks=MORE),
        pytest.param("novelist", 0.92, 0.07, 0.8, marks=MORE),
        ("sysadmin", 0.91, 0.07, 0.8),
    ],
)
def test_prompts_of_a_stranger(
    name: str, least_auroc: float, most_silenced: float, least_silent: float, tmp_path: Path, model_cache: Path
) -> None:
    prompts = read_set(FOLDER / name / "prompts.jsonl")
    rows = [json.loads(line) for line in (FOLDER / name / "prompts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) >= 79 and all(row["prompt"].strip() for row in rows)
    assert all(bool(row["gold"]) is row["wanted"] for row in rows)
    assert all((FOLDER / name / "vault" / path).is_file() for row in rows for path in row["gold"])
    (answers,) = anyio.run(run, prompts, EngineConfig(tmp_path, tmp_path, model_cache), [Variant()], tmp_path, print)
    wanted = [answer.confidence for answer in answers if answer.question.answerable]
    others = [answer.confidence for answer in answers if not answer.question.answerable]
    assert (auroc(wanted, others) or 0) >= least_auroc
    assert share_below(wanted, UNWANTED) <= most_silenced
    assert share_below(others, UNWANTED) >= least_silent


def test_no_stranger_taught_it() -> None:
    taught = {prompt.casefold() for prompt in examples()[0] if len(prompt) > SAID_BY_MANY}
    for file in FOLDER.glob("*/prompts.jsonl"):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        assert not taught & {row["prompt"].casefold() for row in rows}, file.parent.name
