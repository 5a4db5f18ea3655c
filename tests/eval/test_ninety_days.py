"""Ninety days of a person: promises are told on time, what worked comes with its error, no junk is promoted. `python -m
tests.eval.ninety_days.replay` prints all figures, and what is wrong."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.eval.ninety_days.replay import judge, replay
from tests.support.world import EXHAUSTIVE


@pytest.mark.skipif(not EXHAUSTIVE, reason="half a minute of embedding; MCP_MEMORY_EXHAUSTIVE=1")
@pytest.mark.timeout(600)
def test_what_memory_makes_of_jonas_days(tmp_path: Path, model_cache: Path) -> None:
    counts = judge(anyio.run(replay, "jonas", tmp_path, model_cache))
    shares = {name: count.right / count.of for name, count in counts.items()}
    always = ("promises told on their day or the day before", "promises silent before", "lessons told with the failure")
    assert [shares[name] for name in always] == [1, 1, 1], counts
    assert shares["promoted lines that are no junk"] == 1
    assert shares["recurring preferences promoted"] >= 0.4
    assert shares["new value told at the end"] >= 0.5
    assert shares["facts in summaries"] >= 0.7
