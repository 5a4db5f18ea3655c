"""The labels of the project's own set name what is there, and search finds it.

The figures are the worst of three precisions, and a bound is two prompts or questions less: see `test_strangers`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from mcp_memory.core.core import EngineConfig
from mcp_memory.search.thresholds import UNWANTED
from tests.evaluation.report import ANSWERABLE, report
from tests.evaluation.running import Variant, run
from tests.evaluation.sets import read_set
from tests.support.question_sets import ROOM

FOLDER = Path(__file__).with_name("developer")

EVIDENCE = {500: 0.941, 1000: 0.968, 2000: 0.976}
"""Within so many tokens."""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the index of the vault is kept from one run to the next."""
    return tmp_path_factory.mktemp("developer")


def test_the_shipped_threshold_silences_what_wants_no_memory(state: Path, model_cache: Path) -> None:
    prompts = replace(read_set(FOLDER / "prompts.jsonl"), name=FOLDER.name)
    (answers,) = anyio.run(run, prompts, EngineConfig(state, state, model_cache), [Variant()], state, print)
    found = report(answers, prompts.lengths(), (500,))
    wanted = found.confidences[ANSWERABLE]
    unwanted = [each for kind, confidences in found.confidences.items() if kind != ANSWERABLE for each in confidences]
    assert sum(each < UNWANTED for each in wanted) <= 1 + ROOM
    assert sum(each < UNWANTED for each in unwanted) >= 139 - ROOM
    assert found.figure("note_recall@10").mean >= 0.936 - ROOM / len(wanted)


def test_evidence_found(state: Path, model_cache: Path) -> None:
    questions = read_set(FOLDER)
    (answers,) = anyio.run(run, questions, EngineConfig(state, state, model_cache), [Variant()], state, print)
    whole = report(answers, questions.lengths(), tuple(EVIDENCE))
    answerable = sum(question.answerable for question in questions.questions)
    for tokens, least in EVIDENCE.items():
        assert whole.figure(f"evidence@{tokens}tok").mean >= least - ROOM / answerable, tokens
