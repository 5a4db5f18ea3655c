"""One daemon a vault: started, found, stopped, killed and started again."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcp_memory import __version__
from mcp_memory.client.connection import Address
from mcp_memory.daemon.instance import is_held
from tests.daemon.place import STOP_S, Place, holding
from tests.daemon.wire import Wire


def test_start_twice_status_and_stop_twice(place: Place):
    first = place.run("start", "--json").ok().json
    assert first["started"] is True
    second = place.run("start", "--json").ok().json
    assert second["started"] is False
    assert second["pid"] == first["pid"]
    assert "already running" in place.run("start").ok().out
    status = place.run("status", "--json").ok().json
    assert {
        "url", "pid", "version", "vault", "ready", "notes", "chunks", "pending", "model", "generation", "errors",
        "last_progress_s",
    } <= set(status)  # fmt: skip
    assert status["url"] == first["url"]
    assert status["version"] == __version__
    assert status["vault"] == str(place.vault)
    assert status["ready"] is True
    assert status["notes"] == 0, "its README is no note"
    assert status["model"] is None
    assert status["errors"] == []
    stopped = place.run("stop", "--json").ok().json
    assert stopped == {"stopped": True, "pid": first["pid"]}
    assert place.run("stop", "--json").ok().json == {"stopped": False, "pid": None}
    gone = place.run("status")
    assert gone.code == 3
    assert f"mcp-memory start --vault {place.vault}" in gone.err, "the vault that was asked for"
    assert place.run("status", "--json").json["code"] == "not_running"


def test_a_new_vault_says_what_it_is(place: Place):
    said = place.run("start").ok().out
    address, holds, no_model, following, page = said.splitlines()
    assert address == f"started: {Address.read(place.state.daemon).url}"
    assert holds == f"{place.vault} holds no note yet"
    assert no_model.startswith("without a model, so it finds words only (unavailable: ")
    assert following == f"next, connect your agents: mcp-memory setup --vault {place.vault}"
    assert page == f"to see your memory in a browser: mcp-memory open --vault {place.vault}"
    said = place.run("install", "generic").ok().out
    assert "claude mcp add-json" in said
    assert "[mcp_servers.memory-vault]" in said
    assert "openclaw mcp add" in said
    for token in json.loads(place.state.tokens.read_text())["tokens"].values():
        assert token not in said, "helpers are pasted, not tokens"
    assert (place.vault / "README.txt").exists()
    assert (place.vault / ".mcp-memory" / "vault.toml").exists()


def test_after_kill_9_start_works_at_once(place: Place):
    with place.serving() as served:
        with Wire(served) as wire:
            receipt = wire.api("append", {"content": "written before the end"}).json
        served.process.kill()
        served.process.wait(STOP_S)
        assert place.state.daemon.exists(), "nobody tidied up"
        assert place.run("status").code == 3
    found = place.run("search", "--json", "before the end").ok().json
    assert found["hits"][0]["id"] == receipt["id"], "in process, past the dead daemon's address"
    with place.started() as again:
        assert again.address.pid != served.address.pid
        assert again.address.port == served.address.port, "clients are configured once"
        assert place.run("search", "--json", "before the end").ok().json["hits"][0]["id"] == receipt["id"]


def test_who_waits_for_its_turn_in_vain_is_told_who_has_it(place: Place):
    with holding(place) as worker:
        ran = place.run_impatient("append", "x", turn_s=1.0)
        assert ran.code == 3, ran
        assert f"(pid {worker.pid}) is using this vault, and did so for 1 s" in ran.err
        assert f"ps -p {worker.pid}" in ran.err


def test_commands_without_a_daemon_take_turns(place: Place):
    place.run("append", "the first one makes the vault").ok()
    with ThreadPoolExecutor(6) as pool:
        said = list(pool.map(lambda number: place.run("append", "--json", f"note {number}").ok(), range(6)))
    assert len({each.json["id"] for each in said}) == 6


def test_start_waits_for_who_is_about_to_end(place: Place):
    """A daemon that is told to stop holds the lock until its last call is answered."""
    with ThreadPoolExecutor(1) as pool:
        with holding(place) as worker:
            starter = pool.submit(place.run, "start", "--json")
            with pytest.raises(TimeoutError):
                starter.result(1)
            assert worker.poll() is None
        assert starter.result(60).ok().json["started"] is True


def test_a_port_of_another_program(place: Place):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        for command in ("serve", "start"):
            ran = place.run(command, "--port", port)
            assert ran.code == 3, ran
            assert f"port {port}" in ran.err
            assert "another program" in ran.err
            assert "--port" in ran.err
            assert "Traceback" not in ran.err


def test_term_while_the_model_is_still_compiled(tmp_path: Path):
    """A worker thread waits for the compiler; the end of the daemon must not."""
    place = Place(tmp_path, tmp_path / "models").make()
    with place.serving() as served:
        assert served.terminate() == 0
    assert list(place.models.rglob("*.onnx")) == [], "nobody waited for it"
    assert not is_held(place.state)


def test_term_before_it_serves(place: Place):
    """The address is published early; it goes again even if the daemon never came to serve."""
    with subprocess.Popen(
        place.command("serve"), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=place.environ, cwd=place.root
    ) as process:
        while not place.state.daemon.exists():
            assert process.poll() is None
            os.sched_yield()
        process.terminate()
        _, said = process.communicate(timeout=STOP_S)
    assert process.returncode == 0
    assert said == b""
    assert not place.state.daemon.exists()


def test_at_its_end_it_leaves_the_address_of_a_successor_alone(place: Place):
    with place.serving() as served:
        successor = Address(**{**vars(served.address), "pid": os.getpid()})
        successor.write(place.state.daemon)
        served.process.terminate()
        served.process.wait(STOP_S)
    assert Address.read(place.state.daemon) == successor


def test_interrupt_ends_it_too(place: Place):
    with place.serving() as served:
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(10) == 0
    assert not place.state.daemon.exists()


def test_state_is_private(place: Place):
    with place.started() as daemon, Wire(daemon) as wire:
        wire.api("append", {"content": "a secret plan"})
        wire.api("append", {"content": "today", "kind": "log"})
        wire.tool("memory_search", {"query": "plan"})
        modes = {
            str(path.relative_to(place.root)): stat.S_IMODE(path.lstat().st_mode)
            for path in [place.state.home, *place.state.home.rglob("*")]
        }
        folders = {name for name in modes if (place.root / name).is_dir()}
        assert {name: oct(modes[name]) for name in folders if modes[name] != 0o700} == {}
        assert {name: oct(mode) for name, mode in modes.items() if name not in folders and mode & 0o077} == {}
        assert any(name.endswith("tokens.json") for name in modes)


def test_state_of_somebody_else_is_refused(place: Place):
    if os.geteuid() != 0:
        pytest.skip("only root can make somebody else's folder")
    place.state.root.mkdir(parents=True)
    os.chown(place.state.root, 65534, 65534)
    for command in (("serve",), ("start",), ("append", "x"), ("clients", "token")):
        ran = place.run(*command)
        assert ran.code == 2, ran
        assert "belongs to user 65534" in ran.err
        assert "MCP_MEMORY_STATE" in ran.err
    assert list(place.state.root.iterdir()) == []


def test_tokens_that_others_could_have_written_are_refused(place: Place):
    place.run("clients", "token").ok()
    place.state.tokens.chmod(0o644)
    ran = place.run("clients", "token")
    assert ran.code == 2
    assert "chmod 600" in ran.err
    place.state.tokens.unlink()
    place.state.tokens.symlink_to("/etc/passwd")
    assert place.run("clients", "token").code == 1


def test_a_state_folder_that_cannot_be_made(place: Place):
    (place.root / "state").write_text("a file")
    ran = place.run("start")
    assert ran.code == 1
    assert "MCP_MEMORY_STATE" in ran.err
    assert "Traceback" not in ran.err


def test_a_relative_state_folder_means_the_same_to_start_and_its_daemon(place: Place):
    more = {"MCP_MEMORY_STATE": "state", "MCP_MEMORY_VAULT": "vault"}
    started = place.run("start", "--json", **more).ok().json
    assert Address.read(place.state.daemon).pid == started["pid"]
    assert place.run("status", "--json", **more).ok().json["pid"] == started["pid"]


def test_vault_that_is_a_file(place: Place):
    place.vault.write_text("x")
    for command in (("serve",), ("append", "x")):
        ran = place.run(*command)
        assert ran.code in {1, 2}, ran
        assert "Traceback" not in ran.err
        assert "vault" in ran.err


def test_the_log_is_rotated_and_stays_private(tmp_path: Path):
    import logging

    from mcp_memory.daemon.logging import open_log
    from mcp_memory.settings.settings import DaemonConfig

    file = tmp_path / "log" / "daemon.log"
    logger = open_log(file, DaemonConfig(log_bytes=2000, log_files=3))
    try:
        for n in range(200):
            logger.info(f"line {n}")  # each of its own kind: of one kind only so many a minute are written
        try:
            raise ValueError("the text of a note")
        except ValueError:
            logger.exception("a bug met in a tool")
    finally:
        for name in ("mcp_memory", "uvicorn"):
            for handler in logging.getLogger(name).handlers[:]:
                logging.getLogger(name).removeHandler(handler)
                handler.close()
            logging.getLogger(name).propagate = True
    files = sorted(file.parent.iterdir())
    assert [path.name for path in files] == ["daemon.log", "daemon.log.1", "daemon.log.2"]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)
    assert all(path.stat().st_size <= 2000 for path in files)
    said = file.read_text()
    assert "ValueError at" in said
    assert f"{Path(__file__).name}:" in said
    assert "the text of a note" not in said
