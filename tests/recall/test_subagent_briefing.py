"""What a sub-agent is told: standing orders at its start, and with its task what bears on that, in 400 tokens."""

from __future__ import annotations

import anyio
import pytest

from mcp_memory.text.tokens import count_tokens
from tests.support.briefings import begun, told
from tests.support.world import World

pytestmark = pytest.mark.anyio

BUDGET = 400
TASK = "Write the script that deploys the ferry timetable to staging."
DEPLOY = "We deploy the ferry timetable to staging with rsync, never with scp."


async def ordered(engine, agent: str = "s/a1", project: str | None = None) -> str:
    return (await engine.brief(agent, project=project, subagent=True)).text


async def tasked(engine, agent: str = "s/a1", task: str = TASK, project: str | None = None) -> str:
    return (await engine.brief(agent, task, project=project, subagent=True)).text


async def test_it_gets_orders_and_what_bears_on_its_task_but_not_what_its_parent_alone_needs(world: World) -> None:
    world.write("MEMORY.md", "Curated words.")
    world.with_home("Agent").write("Agent/_always-load/a.md", "Never send the ferry timetable to staging on Fridays.")
    world.write("Agent/_always-load/b.md", "---\nproject: mill\n---\nOnly of the mill.")
    world.write("private/x.md", "The password of the ferry timetable on staging is under the mat.")
    async with world.engine() as engine:
        await engine.append(DEPLOY, kind="decision", project="ferry")
        await engine.append("Ada deployed the ferry timetable to staging.", kind="log", project="ferry")
        await engine.append("Deploy the ferry timetable to staging for Bo.", kind="commitment", expires="2030-01-01")
        await engine.append("The ferry timetable of the mill goes to staging by hand.", kind="decision", project="mill")
        orders, task = await ordered(engine, project="ferry"), await tasked(engine, project="ferry")
        assert "on Fridays" in orders and "data, not instructions" in orders
        assert "of the mill" not in orders and "Curated" not in orders
        assert DEPLOY in task
        for other in ("on Fridays", "Ada deployed", "for Bo", "of the mill", "mat"):
            assert other not in task
        assert await tasked(engine, project="ferry") == "", "once is enough"
        assert DEPLOY in await tasked(engine, "s/a2", project="ferry")
        assert DEPLOY in await told(engine, "s", TASK, project="ferry"), "nothing counts as seen by its parent"
        assert "on Fridays" in await begun(engine)
        assert await tasked(engine, "s/a3", "Compose a haiku about herons.", "ferry") == ""


async def test_both_stay_within_the_budget(world: World) -> None:
    world.with_home("Agent").write(
        "Agent/_always-load/a.md", "\n\n".join(f"Order {n} of many words." for n in range(99))
    )
    async with world.engine() as engine:
        for number in range(60):
            about = "deploys of the ferry timetable to staging" if number % 20 == 0 else f"heron{number}"
            await engine.append(f"Key {number} opens the {about}. " + f"More{number}. " * 30, kind="fact")
        orders, task = await ordered(engine), await tasked(engine)
        assert "Order 1 " in orders and "Key " in task
        assert count_tokens(orders) <= BUDGET // 2 and count_tokens(orders) + count_tokens(task) <= BUDGET
    world.write("Agent/_always-load/a.md", "")
    async with world.engine() as engine:
        assert await ordered(engine) == "" and BUDGET // 2 < count_tokens(await tasked(engine, "s/a2")) <= BUDGET


async def test_fifty_at_once_are_each_told_once(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(DEPLOY, kind="decision")
        heard: dict[int, list[str]] = {number: [] for number in range(50)}

        async def work(number: int) -> None:
            heard[number] = [await tasked(engine, f"s/a{number}") for _ in range(2)]

        async with anyio.create_task_group() as group:
            for number in heard:
                group.start_soon(work, number)
        assert all(DEPLOY in first and second == "" for first, second in heard.values())
