"""The instance lock goes with its process, whatever that leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from mcp_memory.daemon.instance import holder, is_held, only_instance
from tests.daemon.place import Place, eventually

FORK = "pid = os.fork()\n    if not pid: time.sleep(600)"
EXEC = "pid = subprocess.Popen(['sleep', '600'], close_fds=False).pid"
EXEC_LATER = "pid = os.fork()\n    if not pid: os.execvp('sleep', ['sleep', '600'])"


@contextmanager
def parent_and_child(place: Place, making_a_child: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that holds the lock, and its child that stays on."""
    program = (
        "import os, subprocess, time; from mcp_memory.daemon.instance import only_instance\n"
        "from mcp_memory.settings.settings import load\n"
        "state = load(os.environ).state; state.make()\n"
        f"with only_instance(state):\n    {making_a_child}\n    print(pid, flush=True)\n    time.sleep(600)"
    )
    with subprocess.Popen(
        [place.command()[0], "-c", program], stdout=subprocess.PIPE, env=place.environ, text=True
    ) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        try:
            yield parent, child
        finally:
            parent.kill()
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("making_a_child", [FORK, EXEC, EXEC_LATER], ids=["fork", "exec", "fork and exec"])
def test_a_child_that_outlives_its_killed_parent_does_not_hold_it(place: Place, making_a_child: str):
    with parent_and_child(place, making_a_child) as (parent, child):
        assert holder(place.state) == parent.pid
        with pytest.raises(Exception, match=f"pid {parent.pid}"), only_instance(place.state):
            pass
        parent.kill()
        parent.wait(10)
        eventually(lambda: not is_held(place.state))
        assert psutil.pid_exists(child)
        with only_instance(place.state):
            assert holder(place.state) == os.getpid()


def test_a_stopped_process_keeps_it(place: Place):
    """The machine slept, or a debugger holds the daemon: that is no death, and there are never two owners."""
    with parent_and_child(place, FORK) as (parent, _):
        parent.send_signal(signal.SIGSTOP)
        assert holder(place.state) == parent.pid
        with pytest.raises(Exception, match=f"pid {parent.pid}"), only_instance(place.state):
            pass


def test_those_who_ask_at_once_do_not_take_each_other_for_an_owner(place: Place):
    with only_instance_once(place):
        pass
    asker = "import os; from mcp_memory.daemon.instance import is_held\n" + (
        "from mcp_memory.settings.settings import load\n"
        "state = load(os.environ).state; print(sum(is_held(state) for _ in range(3000)))"
    )
    askers = [
        subprocess.Popen([place.command()[0], "-c", asker], stdout=subprocess.PIPE, env=place.environ) for _ in range(3)
    ]
    assert [int(asker.communicate(timeout=60)[0]) for asker in askers] == [0, 0, 0]


@contextmanager
def only_instance_once(place: Place) -> Iterator[None]:
    place.state.make()
    with only_instance(place.state):
        yield
