from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial

import anyio
import pytest

from mcp_memory.errors import DeadlineExceeded
from mcp_memory.runtime.threads import ThreadPool

pytestmark = pytest.mark.anyio


async def test_no_more_than_so_many_at_once() -> None:
    crew, lock, full = ThreadPool(at_once=2), threading.Lock(), threading.Barrier(2)
    running, most = 0, 0

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        full.wait(10)
        with lock:
            running -= 1

    async def ask() -> None:
        await crew.run(work, what="the work", deadline_s=10)

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(ask)
    assert most == 2


async def test_who_overran_its_deadline_keeps_nobody_from_work_until_too_many_hang() -> None:
    crew, end = ThreadPool(at_once=1, most=3), threading.Event()

    async def hang() -> None:
        with pytest.raises(DeadlineExceeded, match="the work took longer"):
            await crew.run(end.wait, what="the work", deadline_s=0.05)

    try:
        await hang()
        await hang()
        assert await crew.run(lambda: "done", what="other work", deadline_s=10) == "done"
        await hang()
        with pytest.raises(DeadlineExceeded, match="other work"):
            await crew.run(lambda: "done", what="other work", deadline_s=0.05)
    finally:
        end.set()
    assert await crew.run(lambda: "done", what="other work", deadline_s=10) == "done"


async def test_waiting_for_a_turn_counts() -> None:
    crew, begun, end = ThreadPool(at_once=1), threading.Event(), threading.Event()

    async def first() -> None:
        await crew.run(lambda: (begun.set(), end.wait()), what="the first", deadline_s=10)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        await anyio.to_thread.run_sync(begun.wait)
        with pytest.raises(DeadlineExceeded, match="the second"):
            await crew.run(lambda: None, what="the second", deadline_s=0.05)
        end.set()


ABANDONS = """
import os
from anyio.from_thread import start_blocking_portal
from mcp_memory.errors import DeadlineExceeded
from mcp_memory.runtime.threads import in_thread

def work():
    os.read(0, 1)
    os.write(1, b"done")

async def ask():
    await in_thread(work, what="the work", deadline_s=0.1)

with start_blocking_portal() as portal:
    try:
        portal.call(ask)
    except DeadlineExceeded:
        os.write(1, b"late ")
"""


def test_a_program_that_ends_waits_for_work_that_it_abandoned() -> None:
    """Otherwise Python unwinds the thread, and C++ code in it aborts the program."""
    with subprocess.Popen([sys.executable, "-c", ABANDONS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin and program.stdout
        assert program.stdout.read(5) == b"late "
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(0.5)
        program.stdin.write(b"x")
        program.stdin.close()
        assert (program.stdout.read(), program.wait(30)) == (b"done", 0)


async def test_a_repeat_goes_before_those_who_wait_and_one_who_gives_up_passes_its_turn_on() -> None:
    pool, done, held = ThreadPool(1), list[str](), threading.Event()

    async def work(name: str, *, is_repeat: bool = False, deadline_s: float = 10) -> None:
        with suppress(DeadlineExceeded):
            await pool.run(lambda: done.append(name), what=name, deadline_s=deadline_s, is_repeat=is_repeat)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: pool.run(held.wait, what="holding", deadline_s=10))
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(work, "first")
        tasks.start_soon(partial(work, "gives up", deadline_s=0.01))
        tasks.start_soon(work, "last")
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(partial(work, "repeat", is_repeat=True))
        await anyio.sleep(0.05)
        held.set()
    assert done == ["repeat", "first", "last"]
    await work("free again")
    assert done[-1] == "free again"
