"""Invariant 8: every note is reachable exactly once after any interrupted compaction; killed at random here, at every
call in `test_1_answered_appends_survive.py`. Three rounds; two hundred: python -m tests.promises.kills compact."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.promises.kills import Figures, rounds
from tests.support.world import EXHAUSTIVE

ROUNDS = 200 if EXHAUSTIVE else 3


@pytest.mark.anyio
@pytest.mark.timeout(60 * ROUNDS)
async def test_killed_runs_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    figures = Figures()
    await rounds(ROUNDS, 1, tmp_path, figures, ways=("engine", "daemon", "program"))
    assert figures.faults == [], "\n".join([figures.summary(), *figures.faults])
    assert figures.counts["runs taken back"] > ROUNDS and figures.rounds.total() == ROUNDS
