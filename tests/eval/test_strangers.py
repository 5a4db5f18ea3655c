"""Prompts of people whose words trained nothing get silence where they need no memory.

Another processor's int8 gives other numbers: up to two prompts of a person are on the other side of the threshold. A
bound is a figure less `ROOM`, and for AUROC less what one wanted prompt is worth that falls from the first place to the
last.
"""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from mcp_memory.core.core import EngineConfig
from mcp_memory.search.thresholds import UNWANTED
from tests.benchmarks.train_memory_intent import examples
from tests.evaluation.metrics import auroc
from tests.evaluation.running import Variant, run
from tests.evaluation.sets import read_set
from tests.support.question_sets import ROOM
from tests.support.world import EXHAUSTIVE

FOLDER = Path(__file__).with_name("strangers")

MORE = pytest.mark.skipif(not EXHAUSTIVE, reason="two people of five are enough for each run; MCP_MEMORY_EXHAUSTIVE=1")

SAID_BY_MANY = 20
"""Characters: `thanks!` is nobody's own."""


@pytest.mark.parametrize(
    ("name", "ranked", "silenced", "silent"),  # AUROC; prompts that want memory and get none; that want none
    [
        ("ecology", 0.946, 2, 56),
        pytest.param("embedded", 0.88, 6, 51, marks=MORE),
        pytest.param("startup", 0.949, 0, 41, marks=MORE),
        pytest.param("novelist", 0.904, 2, 29, marks=MORE),
        ("sysadmin", 0.876, 4, 30),
    ],
)
def test_prompts_of_a_stranger(
    name: str, ranked: float, silenced: int, silent: int, tmp_path: Path, model_cache: Path
) -> None:
    prompts = read_set(FOLDER / name / "prompts.jsonl")
    rows = [json.loads(line) for line in (FOLDER / name / "prompts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) >= 79 and all(row["prompt"].strip() for row in rows)
    assert all(bool(row["gold"]) is row["wanted"] for row in rows)
    assert all((FOLDER / name / "vault" / path).is_file() for row in rows for path in row["gold"])
    (answers,) = anyio.run(run, prompts, EngineConfig(tmp_path, tmp_path, model_cache), [Variant()], tmp_path, print)
    wanted = [answer.confidence for answer in answers if answer.question.answerable]
    others = [answer.confidence for answer in answers if not answer.question.answerable]
    assert (auroc(wanted, others) or 0) >= ranked - 1 / len(wanted)
    assert sum(each < UNWANTED for each in wanted) <= silenced + ROOM
    assert sum(each < UNWANTED for each in others) >= silent - ROOM


def test_no_stranger_taught_it() -> None:
    taught = {prompt.casefold() for prompt in examples()[0] if len(prompt) > SAID_BY_MANY}
    for file in FOLDER.glob("*/prompts.jsonl"):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        assert not taught & {row["prompt"].casefold() for row in rows}, file.parent.name
