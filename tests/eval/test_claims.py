"""Vaults of changing facts: which of their notes hold now, by the real model."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import pytest

from tests.eval.claims.measure import FOLDER, HOLDS, measure

HELD_OUT = FOLDER / "held_out"


@pytest.mark.parametrize("name", ["internal-platform", "mobile-app"])
def test_no_note_of_a_stranger_that_holds_is_taken_for_outdated(name: str, tmp_path: Path, model_cache: Path) -> None:
    """None of the 70 notes of these two vaults is."""
    counts = anyio.run(partial(measure, HELD_OUT / f"{name}.jsonl", tmp_path, model_cache, wrong := []))
    print(*wrong, sep="\n")
    assert counts[HOLDS].of - counts[HOLDS].right == 0
