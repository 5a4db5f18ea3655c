"""The index writer: one write at a time, whoever gives up waiting, and none that somebody else has done already."""

from __future__ import annotations

import threading

import anyio
import pytest

from mcp_memory.errors import IndexUnavailable
from mcp_memory.index.base import Index
from tests.support.world import World, draft, eventually, found

pytestmark = pytest.mark.anyio


class Slowly:
    """`index.apply`, which waits to be let go on."""

    def __init__(self, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = self.at_once = self.most = 0
        self.go_on = threading.Event()
        self._apply = index.apply
        monkeypatch.setattr(index, "apply", self)

    def __call__(self, *arguments) -> int:
        self.calls += 1
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            assert self.go_on.wait(20)
            return self._apply(*arguments)
        finally:
            self.at_once -= 1


async def test_a_writer_that_is_cancelled_lets_nobody_else_begin(world: World, monkeypatch) -> None:
    async with world.engine() as engine:
        files = [engine.parts.vault.append(draft(f"The kettle number {n}")).file for n in range(2)]
        slow = Slowly(engine.parts.index, monkeypatch)
        scope = anyio.CancelScope()

        async def gives_up() -> None:
            with scope:
                await engine.parts.writer.index_note(files[0])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gives_up)
            await eventually(lambda: slow.calls)
            scope.cancel()
            tasks.start_soon(engine.parts.writer.index_note, files[1])
            await eventually(lambda: engine.parts.writer.lock.statistics().tasks_waiting)
            assert (slow.calls, slow.at_once) == (1, 1)
            slow.go_on.set()
        assert (slow.calls, slow.most) == (2, 1)
        assert sorted(await found(engine, "kettle")) == sorted(file.record.path for file in files)


async def test_who_comes_first_writes_the_entries_of_all_who_wait(world: World, monkeypatch) -> None:
    async with world.engine() as engine:
        versions = [engine.parts.vault.append(draft(f"The kettle number {n}", "log")).file for n in range(5)]
        slow = Slowly(engine.parts.index, monkeypatch)
        slow.go_on.set()
        for version in versions:
            await engine.parts.writer.index_note(version)
        assert slow.calls == 2, "the first, and the last, whose very bytes may mean something else by now"
        assert len((await engine.search("kettle", limit=10)).hits) == 5


async def test_a_note_whose_write_failed_is_looked_at_again(world: World, monkeypatch) -> None:
    async with world.engine() as engine:
        file = engine.parts.vault.append(draft("The kettle")).file
        with monkeypatch.context() as broken:

            def fails(*_) -> int:
                raise IndexUnavailable("the disk is gone")

            broken.setattr(engine.parts.index, "apply", fails)
            with pytest.raises(IndexUnavailable):
                await engine.parts.writer.index_note(file)
        await engine.sweep()
        assert await found(engine, "kettle") == [file.record.path]
