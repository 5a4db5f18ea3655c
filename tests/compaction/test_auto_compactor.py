"""The tree grows by itself: when things are quiet, behind everybody's calls, and never against a person's will."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from mcp_memory.compaction import auto_compactor
from mcp_memory.jobs import scheduler
from mcp_memory.runs.job_runner import RunLock
from mcp_memory.runtime.health import IdleDetector
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.topics.page import PAGE
from tests.support.keyword_engine import KeywordEngine
from tests.support.stub_endpoint import StubEndpoint, serving
from tests.support.topics import RAIL, SOON, TEA, leaves, told, topic_of
from tests.support.world import World, eventually, until

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "LULL_S", 0.01)
    monkeypatch.setattr(scheduler, "RETRY_S", 0.05)


@pytest.fixture
def hanging() -> Iterator[tuple[StubEndpoint, threading.Event]]:
    """A language model that answers with a refusal, once the event is set."""
    go_on = threading.Event()

    def answer(_: dict[str, Any]) -> Any:
        go_on.wait(30)
        return 500, {}, {}

    with serving(answer) as endpoint:
        yield endpoint, go_on
        go_on.set()


def filed(world: World) -> int:
    """How many notes are in topics."""
    return len([path for path in leaves(world.files()) if "/_fresh/" not in path])


async def said(engine: KeywordEngine) -> dict[str, Any]:
    return (await engine.status())["compaction"]


async def at_rest(engine: KeywordEngine, world: World, notes: int) -> None:
    """Waits until so many notes are filed, and nothing is left to do."""

    def holds(status: dict[str, Any]) -> bool:
        now = status["compaction"]
        return filed(world) == notes and now["why_idle"] == auto_compactor.NOTHING and now["next_s"] is None

    await until(engine, holds)


async def test_notes_are_filed_and_pages_renewed_without_being_asked(toy_world: World) -> None:
    async with toy_world.engine(watching=True, topics=SOON) as engine:
        await told(engine, TEA + RAIL)
        await at_rest(engine, toy_world, 8)
        status = await engine.status()
        last = status["compaction"]["last"]
        assert last["about"] == "8 notes filed, 2 pages written"
        assert await engine.runs() == [last["run"]]
        assert status["phase"] == status["compaction"]["phase"] == "idle" and not status["problems"]
        await told(engine, ["Green tea from Uji needs water of 80 degrees and a warm pot, says Ada."])
        tea = topic_of(toy_world, "green-tea")
        await eventually(lambda: b"says Ada" in toy_world.read(f"{tea}/{PAGE}"))
        note = next((toy_world.root / tea).glob("001-*.md"))
        note.write_text(note.read_text().replace("Green tea", "Never drink with milk: green tea"))
        await eventually(lambda: b"ever drink with milk" in toy_world.read(f"{tea}/{PAGE}"))
        await at_rest(engine, toy_world, 9)  # what is done is done


async def test_only_where_it_is_wanted(toy_world: World) -> None:
    for watching, topics in ((False, SOON), (True, replace(SOON, automatic=False))):
        async with toy_world.engine(watching=watching, topics=topics) as engine:
            await told(engine, TEA)
            assert not filed(toy_world) and (await said(engine))["automatic"] is False
            assert "mcp-memory topics compact" in (await said(engine))["why_idle"]


async def test_a_few_notes_wait_for_more_but_not_for_ever(toy_world: World) -> None:
    topics = replace(SOON, quiet_s=0.1, longest_wait_s=1.5)
    async with toy_world.engine(watching=True, topics=topics) as engine:
        await told(engine, TEA)
        await at_rest(engine, toy_world, 4)
        await told(engine, ["Green tea from Uji needs water of 99 degrees and a warm pot."])
        few = lambda now: "filed when there are more" in (now["why_idle"] or "") and now["next_s"]  # noqa: E731 -- a line's
        await until(engine, lambda status: few(status["compaction"]))
        assert filed(toy_world) == 4
        await eventually(lambda: filed(toy_world) == 5)


async def test_a_person_comes_first_and_both_are_done_once(
    toy_world: World, hanging: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint, go_on = hanging
    waits, foreground = anyio.Event(), RunLock.foreground

    def waiting(lock: RunLock) -> AbstractAsyncContextManager[None]:
        waits.set()
        return foreground(lock)

    monkeypatch.setattr(RunLock, "foreground", waiting)
    model = SummarizerConfig(provider="openai", endpoint=endpoint.address, model="m")
    reports: list[Any] = []
    async with toy_world.engine(watching=True, topics=SOON, summarizer=model) as engine:
        await told(engine, TEA + RAIL)
        before = leaves(toy_world.files())
        await eventually(lambda: endpoint.requests)
        assert (await said(engine))["phase"] == "compacting"

        async def person() -> None:
            reports.append(await engine.compact())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(person)
            await waits.wait()
            go_on.set()
        assert len(await engine.runs()) == 2, "the one gave way after a job, the other did the rest"
        assert len(reports[0].done) == 1 and filed(toy_world) == 8
        assert sorted(leaves(toy_world.files()).values()) == sorted(before.values())


async def test_the_end_does_not_wait_for_a_language_model(toy_world: World, hanging: Any) -> None:
    endpoint, _ = hanging
    model = SummarizerConfig(provider="openai", endpoint=endpoint.address, model="m")
    with anyio.fail_after(15):
        async with toy_world.engine(watching=True, topics=SOON, summarizer=model) as engine:
            await told(engine, TEA)
            await eventually(lambda: endpoint.requests)
    assert not filed(toy_world)
    async with toy_world.engine(watching=True, topics=SOON):
        await eventually(lambda: filed(toy_world) == 4)


async def test_what_a_person_took_back_is_not_done_again_unasked(toy_world: World) -> None:
    async with toy_world.engine(watching=True, topics=SOON) as engine:
        await told(engine, TEA)
        await until(engine, lambda status: filed(toy_world) == 4 and status["compaction"]["last"])
        await engine.undo_run((await said(engine))["last"]["run"])
        await until(engine, lambda status: status["compaction"]["why_idle"] == auto_compactor.HELD)
        assert not filed(toy_world)
    async with toy_world.engine(watching=True, topics=SOON) as engine:
        await until(engine, lambda status: status["compaction"]["why_idle"] == auto_compactor.HELD)
        await engine.compact()
        assert filed(toy_world) == 4
        await told(engine, RAIL)
        await eventually(lambda: filed(toy_world) == 8)


async def test_what_keeps_failing_is_told_once_and_then_tried_less(
    toy_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async with toy_world.engine(watching=True, topics=SOON) as engine:
        journal = toy_world.state / "compaction"
        journal.write_text("in the way")
        await told(engine, TEA)

        async def is_failing() -> bool:
            return any("topics keeps failing" in each.what for each in await engine.doctor())

        await eventually(is_failing)
        now = await said(engine)
        assert "failed" in now["why_idle"] and now["next_s"] is not None
        lines = [record.message for record in caplog.records if record.message.startswith("job topics:")]
        assert len(lines) == 1 and not filed(toy_world)
        journal.unlink()
        await eventually(lambda: filed(toy_world) == 4)
        await until(engine, lambda status: not status["compaction"]["failures"])
        assert not await is_failing()


async def test_a_lull_is_waited_for_within_bounds() -> None:
    now = 0.0
    traffic = IdleDetector(lambda: now)

    async def passing() -> None:
        nonlocal now
        while True:
            now += 0.5
            await anyio.sleep(0.001)  # the clock is `now`; this lets the other task run

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(passing)
        with traffic.serving():
            begun = now
            await traffic.lull(quiet_s=1, at_most_s=20)
            assert now - begun >= 20, "somebody is being served all the while"
        ended = now
        await traffic.lull(quiet_s=30, at_most_s=10_000)
        assert now - ended >= 30
        with traffic.serving():
            await traffic.lull(quiet_s=1, at_most_s=1e9, unless=lambda: True)
        tasks.cancel_scope.cancel()
