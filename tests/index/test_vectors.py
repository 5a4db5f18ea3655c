"""The vector leg's scan: what is gathered first, and what is compared where it lies."""

from __future__ import annotations

import numpy as np
import pytest

from mcp_memory.index.block import Block
from mcp_memory.index.filters import Admitted
from mcp_memory.index.schema import ORDINAL_BITS
from mcp_memory.index.vectors import worth_scanning


@pytest.mark.parametrize(
    ("alive", "dead", "gathered"),
    [(50, 0, False), (50, 1000, False), (5, 0, True), (0, 10, True)],
    ids=["all pass", "the numbers of many notes that are gone", "a tenth passes", "none passes"],
)
def test_vectors_are_copied_only_where_few_of_a_block_pass(alive: int, dead: int, gathered: bool) -> None:
    block = Block(np.arange(dead, dead + 50, dtype=np.int64) << ORDINAL_BITS, np.ones((50, 4), dtype=np.int8))
    table = np.zeros(dead + 50, dtype=np.bool_)
    table[dead : dead + alive] = True
    found = worth_scanning(block, Admitted(table))
    assert (found is not block) == gathered
    assert len(found.ids) == (alive if gathered else 50)
