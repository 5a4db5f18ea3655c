"""What agents are told as they act, for six invented people: the right note or none."""

from __future__ import annotations

import pytest

from tests.support.action_sets import PEOPLE, fill, measure
from tests.support.world import World

pytestmark = pytest.mark.anyio

LEAST_PRECISION = 0.8
LEAST_RECALL = 0.55
"""Of actions; the lowest is that of `embedded`, whose notes seldom name what they are about."""


@pytest.mark.parametrize("person", PEOPLE)
async def test_what_is_told_belongs_to_the_action_or_failure(world: World, person: str) -> None:
    async with world.engine() as engine:
        names = await fill(world, engine, person)
        before, after = await measure(engine, person, names)
    print(f"{person}: actions {before}; failures {after}")
    assert before.precision >= LEAST_PRECISION and after.precision >= LEAST_PRECISION, (before.wrong, after.wrong)
    assert before.recall >= LEAST_RECALL and after.recall >= 0.8
