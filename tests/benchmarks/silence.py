"""When an answer should be that nothing is stored: prompts of six people, and what each threshold makes of them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

from mcp_memory.core.config import EngineConfig
from mcp_memory.search.thresholds import UNWANTED
from tests.benchmarks.figures import Figure
from tests.benchmarks.site import models
from tests.evaluation.metrics import share_below
from tests.evaluation.report import ANSWERABLE, EvaluationReport, report
from tests.evaluation.running import Variant, run
from tests.evaluation.sets import QuestionSet, read_set

SETS = Path(__file__).parents[1] / "eval"
PEOPLE = ("developer", *(f"strangers/{name}" for name in ("ecology", "embedded", "startup", "novelist", "sysadmin")))
WIDTH, HEIGHT = 61, 16
WANTED, OTHER, BOTH = "w", "u", "*"


def silence() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        for person in PEOPLE:
            found = _asked(read_set(SETS / person / "prompts.jsonl"), Path(folder))
            wanted, others = found.confidences[ANSWERABLE], _others(found)
            print(f"{person}\n" + "\n".join(plot(wanted, others)), flush=True)
            about = f"{person}, below a confidence of {UNWANTED}"
            yield Figure(
                "prompts that want memory, silenced", share_below(wanted, UNWANTED), "of all", 0.05, about=about
            )
            yield Figure(
                "prompts that want none, silent",
                share_below(others, UNWANTED),
                "of all",
                0.8,
                bound="least",
                about=about,
            )


def _asked(prompts: QuestionSet, place: Path) -> EvaluationReport:
    config = EngineConfig(place, place, models())
    (answers,) = anyio.run(run, prompts, config, [Variant()], place, lambda line: print(line, file=sys.stderr))
    return report(answers, prompts.lengths(), (500,))


def plot(wanted: Sequence[float], unwanted: Sequence[float]) -> list[str]:
    """The share that is silent, upwards, for each threshold from 0 to 1."""
    rows = [[" "] * WIDTH for _ in range(HEIGHT + 1)]
    for column in range(WIDTH):
        for mark, values in ((WANTED, wanted), (OTHER, unwanted)):
            row = rows[HEIGHT - round(share_below(values, column / (WIDTH - 1)) * HEIGHT)]
            row[column] = mark if row[column] == " " else BOTH
    lines = [f"{(HEIGHT - at) / HEIGHT:4.0%} |{''.join(row)}".rstrip() for at, row in enumerate(rows)]
    legend = f"silent below a confidence of …; {WANTED}: prompts that want memory, {OTHER}: that want none"
    return [*lines, f"{'':5}+{'-' * WIDTH}", f"{'':6}0{'1':>{WIDTH - 1}}", f"{'':6}{legend}"]


def _others(found: EvaluationReport) -> list[float]:
    return [each for kind, values in found.confidences.items() if kind != ANSWERABLE for each in values]
