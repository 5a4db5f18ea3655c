"""Many starts at once make one daemon; whoever comes later is told where it is."""

from __future__ import annotations

import fcntl
import json
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcp_memory.client.connection import Address
from mcp_memory.daemon.instance import end_holder, holder
from mcp_memory.settings.settings import load
from tests.daemon.place import Place
from tests.support.world import EXHAUSTIVE

MANY = 32 if EXHAUSTIVE else 8
LONG_S = 180


def test_of_many_starts_at_once_one_makes_a_daemon_and_all_say_where_it_is(place: Place, tmp_path: Path):
    """Half of them in the background, half in the foreground; who wins does not matter."""
    alone = Place(tmp_path / "alone", place.models, place.more).make()
    began = time.perf_counter()
    with alone.started():
        one_s = time.perf_counter() - began
    began = time.perf_counter()
    processes = [spawn(place, *(("start", "--json") if n % 2 else ("serve",))) for n in range(MANY)]
    starts, serves = processes[1::2], processes[::2]
    try:
        with ThreadPoolExecutor(MANY) as pool:
            said = list(pool.map(lambda process: process.communicate(timeout=LONG_S), starts))
            address = Address.read(place.state.daemon)
            assert address.pid == holder(place.state)
            others = [process for process in serves if process.pid != address.pid]
            told = list(pool.map(lambda process: process.communicate(timeout=LONG_S), others))
        print(f"{MANY} starts at once: {(time.perf_counter() - began) / one_s:.1f} times as long as one")
        assert [process.returncode for process in (*starts, *others)] == [0] * (len(starts) + len(others)), (said, told)
        answers = [json.loads(out) for out, _ in said]
        assert {(answer["pid"], answer["url"]) for answer in answers} == {(address.pid, address.url)}
        for out, err in told:
            assert out == f"{address.url}\n"
            assert f"pid {address.pid}" in err
            assert str(place.vault) in err
        made = sum(answer["started"] for answer in answers)
        assert made + len(serves) - len(others) == 1
        assert holder(place.state) == address.pid
    finally:
        for process in serves:
            process.kill()
            process.communicate()


def test_a_pid_that_is_somebody_elses_now_is_left_alone(place: Place):
    """After kill -9 the lock file and the address still name a process, and the number is given out again."""
    with place.serving() as served:
        served.process.kill()
        served.process.wait(LONG_S)
    with subprocess.Popen(["sleep", "600"]) as innocent:
        place.state.lock.write_text(f"{innocent.pid}\n")
        address = Address.read(place.state.daemon)
        Address(address.host, address.port, "", innocent.pid, "0.0.1", address.vault).write(place.state.daemon)
        assert place.run("stop", "--json").ok().json == {"stopped": False, "pid": None}
        assert place.run("start", "--json").ok().json["started"] is True
        assert innocent.poll() is None
        innocent.kill()


@pytest.fixture
def innocent() -> Iterator[subprocess.Popen[bytes]]:
    """A process of somebody else's."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait(LONG_S)


@pytest.mark.parametrize("number", ["somebody's", "nobody's"])
def test_a_number_that_was_written_in_another_container_is_signalled_by_no_command(
    place: Place, innocent: subprocess.Popen[bytes], number: str
):
    """With a home folder shared into a container, the lock is held, but the number is from outside."""
    pid = innocent.pid if number == "somebody's" else 2**22 + 1
    with place.serving() as served:
        place.state.lock.write_text(f"{pid}\n")
        for command in (["stop"], ["restart"], ["uninstall", "--purge"]):
            ran = place.run(*command)
            assert ran.code == 3 and f"process {pid} of another container, sandbox, machine or user" in ran.err, command
            assert "kill" not in ran.err and "ps -p" not in ran.err
        place.run("status").ok()  # where it can be reached, it is used
        address = served.address  # where it can't be:
        Address(address.host, 1, "", pid, address.version, address.vault).write(place.state.daemon)
        for command in (["status"], ["start"], ["serve"]):
            ran = place.run(*command)
            assert ran.code == 3 and f"process {pid} of another container" in ran.err, (command, ran)
        assert innocent.poll() is None and served.process.poll() is None


def test_a_process_that_holds_the_lock_beside_a_dead_daemons_address_is_not_signalled(place: Place):
    with place.serving() as served:
        served.process.kill()
        served.process.wait(LONG_S)
    with place.state.lock.open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        innocent = subprocess.Popen(["sleep", "600"], stdin=lock)
    place.state.lock.write_text(f"{innocent.pid}\n")
    for command in ("stop", "restart"):
        ran = place.run(command)
        assert ran.code == 3 and f"process {innocent.pid} uses the vault but is not a daemon" in ran.err, ran
        assert innocent.poll() is None
    innocent.kill()
    innocent.wait(LONG_S)


def test_only_the_daemon_that_was_seen_is_ended(place: Place):
    """Between the look and the signal another one may have taken over already."""
    with place.serving() as served, subprocess.Popen(["sleep", "600"]) as innocent:
        end_holder(load(place.environ).state, innocent.pid)
        assert innocent.poll() is None
        assert served.process.poll() is None
        innocent.kill()


def spawn(place: Place, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        place.command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=place.environ, cwd=place.root, text=True,
    )  # fmt: skip
