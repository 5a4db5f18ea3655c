"""Promises D4, I2, C4 and M5: a daemon carries on whatever happens to its state folder, its disk and its clock."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.client.connection import Address
from mcp_memory.daemon.instance import HeldLock, holder, only_instance
from tests.daemon.place import CHECKOUT, STOP_S, Place, Running, Served, eventually
from tests.daemon.wire import Wire
from tests.support.constants import with_constants

LINUX = sys.platform.startswith("linux")
OFTEN = {"MCP_MEMORY_WATCH_ACTIVE_SWEEP_S": "1", **with_constants(watch_debounce_s=0.1)}
NO_SPACE = os.strerror(errno.ENOSPC)
FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


@pytest.fixture
def place(place: Place) -> Place:
    """Sweeps every second, so that no test waits for longer."""
    return Place(place.root, place.models, {**place.more, **OFTEN})


@pytest.fixture
def served(place: Place) -> Iterator[Served]:
    with place.serving() as served:
        yield served


@pytest.fixture
def wire(served: Served) -> Iterator[Wire]:
    with Wire(served) as wire:
        eventually(lambda: wire.api("status").json["ready"])
        yield wire


def appended(wire: Wire, content: str, **more: Any) -> dict[str, Any]:
    answer = wire.api("append", {"content": content, **more})
    assert answer.status == 200, answer
    return answer.json


def found(wire: Wire, query: str) -> list[str]:
    answer = wire.api("search", {"query": query, "limit": 50})
    assert answer.status == 200, answer
    return [hit["path"] for hit in answer.json["hits"]]


def stands_again(served: Served) -> bool:
    """Whether the daemon is the one that the state folder tells of."""
    place, pid = served.place, served.process.pid
    files = (place.state.daemon, place.state.tokens, place.state.port)
    return all(file.exists() for file in files) and holder(place.state) == pid


def remove(folder: Path) -> None:
    """Also if the daemon puts a file into it meanwhile."""

    def is_gone() -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    eventually(is_gone)


class TestRemoved:
    """Somebody removes the state folder, or a part of it, under a running daemon."""

    def test_it_comes_back_with_what_only_it_knew(self, place: Place, served: Served, wire: Wire):
        token, before = served.token(), appended(wire, "a violet teapot", kind="fact")
        with Wire(served, client="leaked") as leaked:
            assert leaked.api("status").status == 200
            place.credentials.revoke("leaked")
            assert leaked.api("status").status == 401
            shutil.rmtree(place.state.home)
            during = appended(wire, "a crimson kettle", kind="fact")
            assert "kettle" in (place.vault / during["path"]).read_text()
            assert leaked.api("status").status == 401
            eventually(lambda: stands_again(served))
            assert leaked.api("status").status == 401, "a client that was revoked stays it"
        eventually(lambda: set(found(wire, "teapot kettle")) == {before["path"], during["path"]})
        assert served.token() == token
        assert Address.read(place.state.daemon) == served.address
        for private in (place.state.root, place.state.tokens, place.state.daemon, place.state.lock):
            assert not stat.S_IMODE(private.stat().st_mode) & 0o077, private
        assert "removed" in served.journal
        assert f"pid {served.process.pid}" in place.run("serve").err, "no second one beside it"
        assert served.terminate() == 0
        with place.serving() as again, Wire(again) as anew:
            assert again.address.port == served.address.port
            eventually(lambda: anew.api("status").json["ready"])
            for receipt in (before, during):
                assert anew.api("forget", {"target": receipt["id"]}).status == 200, "it is ours"

    def test_a_start_at_once_finds_it_and_each_part_comes_back_but_tokens(self, served: Served, wire: Wire):
        state = served.place.state
        receipt = appended(wire, "a violet teapot", kind="fact")
        remove(state.root)
        started = served.place.run("start", "--json").ok().json
        assert (started["started"], started["pid"]) == (False, served.process.pid)
        remove(state.root)
        assert served.place.run("append", "--json", "written in the shell").ok().json["outcome"] == "created"
        assert holder(state) == served.process.pid
        (state.root / "ledger.jsonl").unlink()
        eventually((state.root / "ledger.jsonl").exists)  # a sweep sees to it
        for part in (state.index, state.root / "locks", state.lock, state.daemon, state.port):
            shutil.rmtree(part) if part.is_dir() else part.unlink()
            assert appended(wire, f"a crimson kettle, {part.name}", kind="fact")
            eventually(lambda part=part: part.exists() and stands_again(served))
            eventually(lambda: found(wire, "teapot") == [receipt["path"]])
        assert receipt["id"] in (state.root / "ledger.jsonl").read_text()
        shutil.rmtree(state.log.parent)
        state.lock.unlink()  # which is worth a line
        eventually(lambda: state.log.exists() and "removed" in state.log.read_text())
        # But not what was removed alone, and to make it count no longer.
        state.tokens.unlink()
        eventually(lambda: wire.api("status").status == 401)
        with Wire(served) as anew:
            assert anew.api("status").status == 200

    def test_a_lock_that_nobody_has_held_yet_is_left_to_who_lost_it(self, place: Place):
        place.state.make()
        with ThreadPoolExecutor() as threads:
            newcomer = threads.submit(lambda: only_instance(place.state, known_vault=True).__enter__())
            eventually(place.state.lock.exists)
            with only_instance(place.state), pytest.raises(HeldLock, match=f"pid {os.getpid()}"):
                newcomer.result(STOP_S)

    def test_who_comes_too_late_leaves(self, place: Place, served: Served, wire: Wire):
        """A daemon that slept while its folder was removed and another one started."""
        served.process.send_signal(signal.SIGSTOP)
        try:
            shutil.rmtree(place.state.root)
            with place.serving() as successor:
                served.process.send_signal(signal.SIGCONT)
                assert served.process.wait(STOP_S) == 0
                assert Address.read(place.state.daemon) == successor.address
                with Wire(successor) as anew:
                    assert anew.api("status").status == 200
        finally:
            served.process.send_signal(signal.SIGCONT)


def namespace() -> list[str] | None:
    """A command that runs another where it may mount."""
    for flags in ("-rm", "-m"):
        command = ["unshare", flags]
        if LINUX and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
            return command
    return None


@pytest.mark.timeout(300)
def test_a_full_or_read_only_state_folder_costs_freshness_alone(place: Place):
    alone = namespace()
    if alone is None:
        pytest.skip("mounting takes Linux with user namespaces, or root")
    ran = subprocess.run(
        [*alone, sys.executable, "-m", "tests.daemon.full_disk", place.root],
        cwd=CHECKOUT, env={**place.environ, "MCP_MEMORY_EXHAUSTIVE": os.environ.get("MCP_MEMORY_EXHAUSTIVE", "")},
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    *scenes, vault, log = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(scenes) >= 4
    assert not scenes[0]["during"]["current"]
    for seen in scenes:
        during, after, cause = seen["during"], seen["after"], "read-only" if seen["scene"] == "read-only" else "full"
        assert during["search"]["hits"] >= 50, "the old index answers"
        if not during["current"]:
            assert cause in during["search"]["degraded"], seen
            assert any(cause in error for error in during["errors"]), seen
        for receipt in (during["append"], during["log"]):
            if receipt["status"] == 200:
                assert any(receipt["path"] in file for file in during["stored"]), seen
            else:
                assert cause in receipt["message"].lower() or NO_SPACE in receipt["message"], seen
        assert len(during["stored"]) == sum(r["status"] == 200 for r in (during["append"], during["log"])), seen
        assert after["append"]["status"] == 200, seen
        assert after["search"]["hits"] >= 50, seen
        assert after["status"]["notes"] == after["files"], seen
        assert after["status"]["errors"] == [], seen
    assert vault["refused"]["isError"]
    assert "the disk is full" in vault["refused"]["content"][0]["text"]
    assert vault["before"] == vault["during"], "the old bytes, and no others"
    assert not vault["again"].get("isError"), vault
    assert "Traceback" not in log["text"]


def limited(served: Running, files: int) -> None:
    _, hard = resource.prlimit(served.address.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(served.address.pid, resource.RLIMIT_NOFILE, (files, hard))


@pytest.mark.skipif(not LINUX, reason="prlimit and /proc")
def test_no_open_file_left_is_said_and_passes(served: Served, wire: Wire):
    appended(wire, "a violet teapot", kind="fact")
    assert found(wire, "teapot")
    soft, _ = resource.prlimit(served.address.pid, resource.RLIMIT_NOFILE)
    limited(served, len(list(Path(f"/proc/{served.address.pid}/fd").iterdir())))
    assert len(found(wire, "teapot")) == 1, "what is open already goes on"
    refused = wire.api("append", {"content": "a crimson kettle", "kind": "fact"})
    assert refused.status == 500
    assert "too many files open" in refused.json["message"]
    assert not list(served.place.vault.rglob("*kettle*"))
    eventually(lambda: any("too many files open" in error for error in wire.api("status").json["errors"]))
    limited(served, soft)
    receipt = appended(wire, "a crimson kettle", kind="fact")
    assert found(wire, "kettle") == [receipt["path"]]
    eventually(lambda: wire.api("status").json["errors"] == [])
    assert len(found(wire, "teapot")) == 1, "nothing was taken for gone"


ASLEEP_S = 3
EPOCH = datetime(1970, 1, 2, tzinfo=UTC)


@pytest.mark.skipif(FAKETIME is None, reason="the package faketime is not installed")
def test_clocks_and_sleep_decide_nothing(place: Place, tmp_path: Path):
    """The wall clock jumps while the daemon sleeps and while it works; and once it stands still."""
    clock = tmp_path / "clock"
    fake = {
        "LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
    }  # fmt: skip
    set_clock(clock, "+0")
    with place.serving(**fake) as served, Wire(served) as wire:
        eventually(lambda: wire.api("status").json["ready"])
        task = appended(wire, "task: paint the gate", kind="task")
        ids = {task["id"]}
        for number, offset in enumerate(("+8h", "-1h", "+400d", f"-{seconds_since(EPOCH)}", "still", "+0")):
            if number == 0:
                served.process.send_signal(signal.SIGSTOP)
                time.sleep(ASLEEP_S)  # as a closed laptop does: time goes by, and it does not run
            set_clock(clock, offset)
            served.process.send_signal(signal.SIGCONT)
            (place.vault / f"by-hand-{number}.md").write_text(f"# By hand {number}\n\nthe heron{number} stands\n")
            receipts = [appended(wire, f"jump {number} {each}", kind=kind) for each, kind in enumerate(("fact", "log"))]
            ids |= {receipt["id"] for receipt in receipts}
            assert len(ids) == 1 + 2 * (number + 1)
            for receipt in receipts:
                assert receipt["path"] in found(wire, f"jump {number}")
            eventually(lambda n=number: found(wire, f"heron{n}") == [f"by-hand-{n}.md"])
            if number == 0:
                # One a second. In a storm of sweeps the last one is never half a second old.
                eventually(lambda: wire.api("status").json["last_sweep_s"] >= 0.5)
        assert found(wire, "paint the gate") == [task["path"]], "nothing has expired for good"
        assert wire.api("status").json["errors"] == []
        assert served.terminate() == 0, "and no timer hangs"


def set_clock(file: Path, offset: str) -> None:
    """Atomically: the daemon reads it all the time."""
    draft = file.with_suffix(".draft")
    draft.write_text(f"{datetime.now():%Y-%m-%d %H:%M:%S}\n" if offset == "still" else f"{offset}\n")
    draft.replace(file)


def seconds_since(moment: datetime) -> int:
    return int((datetime.now(UTC) - moment).total_seconds())
