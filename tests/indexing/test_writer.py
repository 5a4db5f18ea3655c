"""The index writer: one write at a time, whoever gives up waiting, and none that somebody else has done already."""

from __future__ import annotations

import threading

import anyio
import pytest

from mcp_memory.errors import IndexUnavailable
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from tests.support.indexed_vault import indexed_vault
from tests.support.world import World, draft, eventually

pytestmark = pytest.mark.anyio


class Slowly:
    """`index.apply`, which waits to be let go on."""

    def __init__(self, index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
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
    with indexed_vault(world) as room:
        files = [room.vault.append(draft(f"The kettle number {n}")).file for n in range(2)]
        slow = Slowly(room.index, monkeypatch)
        scope = anyio.CancelScope()

        async def gives_up() -> None:
            with scope:
                await room.writer.index_note(files[0])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gives_up)
            await eventually(lambda: slow.calls)
            scope.cancel()
            tasks.start_soon(room.writer.index_note, files[1])
            await eventually(lambda: room.writer.lock.statistics().tasks_waiting)
            assert (slow.calls, slow.at_once) == (1, 1)
            slow.go_on.set()
        assert (slow.calls, slow.most) == (2, 1)
        assert all(room.texts(file.record.path) for file in files)


async def test_who_comes_first_writes_the_entries_of_all_who_wait(world: World, monkeypatch) -> None:
    with indexed_vault(world) as room:
        versions = [room.vault.append(draft(f"The kettle number {n}", "log")).file for n in range(20)]
        slow = Slowly(room.index, monkeypatch)
        slow.go_on.set()
        async with anyio.create_task_group() as tasks, room.writer.lock:
            for version in versions:
                tasks.start_soon(room.writer.index_note, version)
            await eventually(lambda: room.writer.lock.statistics().tasks_waiting == 20)
        assert slow.calls == 2, "the first, and the last, whose very bytes may mean something else by now"
        assert len(room.texts(versions[0].record.path)) == 20


async def test_a_note_whose_write_failed_is_looked_at_again(world: World, monkeypatch) -> None:
    with indexed_vault(world) as room:
        file = room.vault.append(draft("The kettle")).file
        with monkeypatch.context() as broken:

            def fails(*_) -> int:
                raise IndexUnavailable("the disk is gone")

            broken.setattr(room.index, "apply", fails)
            with pytest.raises(IndexUnavailable):
                await room.writer.index_note(file)
        await room.reconciler.reconcile()
        assert room.texts(file.record.path)
