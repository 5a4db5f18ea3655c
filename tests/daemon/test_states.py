"""Each state of a daemon has its own sentence and the command that helps, and the command does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess

import pytest

from mcp_memory.daemon.instance import holder
from tests.daemon.place import Place, Served, end, holding
from tests.daemon.wire import Wire

LONG_UP_S = 3600


def hung(served: Served) -> None:
    """It has long been up, and says nothing any more."""
    daemon = served.place.state.daemon
    then = daemon.stat().st_mtime - LONG_UP_S
    os.utime(daemon, (then, then))
    served.process.send_signal(signal.SIGSTOP)


def remedy(said: str) -> str:
    """The command after the arrow."""
    return said.rpartition("→ ")[2].strip()


def test_one_that_hangs_is_said_to_and_restart_ends_it(place: Place):
    with place.serving() as served:
        hung(served)
        asking = [
            subprocess.Popen(
                place.command(command), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=place.environ, text=True
            )
            for command in ("status", "start", "serve")
        ]
        for process in asking:
            said = process.communicate(timeout=300)[1]
            assert process.returncode != 0
            assert f"the daemon (pid {served.process.pid}) hangs" in said
            assert remedy(said) == "mcp-memory restart"
        try:
            again = place.run("restart", "--json").ok().json
            assert again["restarted"] and again["pid"] == holder(place.state) != served.process.pid
            assert again["url"] == served.address.url
            assert place.run("status", "--json").ok().json["pid"] == again["pid"]
        finally:
            end(place)


def test_a_start_does_not_wait_for_one_that_hangs(place: Place):
    """It looks as often as it takes to be sure, and not until the time is over in which a new one may come up."""
    with place.serving() as served:
        hung(served)
        with socket.create_server(("127.0.0.1", 0)) as counting:
            address = json.loads(place.state.daemon.read_text())
            place.state.daemon.write_text(json.dumps({**address, "port": counting.getsockname()[1]}))
            then = place.state.daemon.stat().st_mtime - LONG_UP_S
            os.utime(place.state.daemon, (then, then))
            assert "hangs" in place.run("start").err
            counting.setblocking(False)
            looks = 0
            try:
                while True:
                    counting.accept()[0].close()
                    looks += 1
            except BlockingIOError:
                pass
        assert looks == 2


def test_another_process_that_is_no_daemon(place: Place):
    with holding(place) as worker:
        ran = place.run("status")
        assert ran.code == 3 and f"process {worker.pid} uses" in ran.err and f"ps -p {worker.pid}" in ran.err


def test_its_port_is_taken(place: Place):
    with place.serving() as served:
        pass
    with socket.create_server(("127.0.0.1", served.address.port)):
        for command in ("status", "start"):
            ran = place.run(command)
            assert ran.code == 3 and f"port {served.address.port} on 127.0.0.1 is in use by another program" in ran.err
        words = remedy(ran.err).partition("or move: ")[2].partition(", then ")[0].split()
        try:
            assert words[:3] == ["mcp-memory", "start", "--port"]
            moved = place.run(*words[1:], "--json").ok().json
            assert moved["url"].endswith(f":{words[3]}/mcp")
        finally:
            end(place)


@pytest.mark.parametrize("route", ["/mcp", "/api/status"])
def test_a_401_names_a_step_that_exists(place: Place, route: str):
    with place.serving() as served, Wire(served) as wire:
        answer = wire.send("POST", route, b"{}", token="wrong")
        assert answer.status == 401
        assert answer.json == {
            "code": "unauthorized",
            "message": "the token is missing, unknown or was revoked",
            "hint": "run mcp-memory clients on this machine; for a token: mcp-memory clients token --client NAME",
        }
        assert wire.send("GET", "/health").status == 200, "on the same connection"


def test_another_version(place: Place):
    with place.serving() as served:
        daemon = place.state.daemon
        facts = json.loads(daemon.read_text())
        for version, helps in (("0.0.1", "mcp-memory restart"), ("99.0.0", "upgrade this program")):
            daemon.write_text(json.dumps({**facts, "version": version}))
            ran = place.run("status").ok()
            assert f"the daemon has version {version}, this program " in ran.err
            assert remedy(ran.err).startswith(helps)
        daemon.write_text(json.dumps(facts))
        assert served.process.poll() is None


def test_what_changed_since_its_start_is_not_in_force(place: Place):
    file = place.root / "c.toml"
    more = {"MCP_MEMORY_CONFIG": str(file)}
    file.write_text("[recall]\nbudget_tokens = 900\n")
    try:
        place.run("start", "--port", "0", **more).ok()
        assert place.run("status", "--json", **more).ok().json["not_in_force"] == []
        file.write_text("[recall]\nbudget_tokens = 901\n[hooks]\nprompt_ms = 301\n")
        found = [{"key": "recall.budget_tokens", "in_force": 900, "configured": 901}]
        assert place.run("status", "--json", **more).ok().json["not_in_force"] == found
        assert place.run("config", "show", "--json", **more).ok().json["not_in_force"] == found
        line = "so not in effect yet: recall.budget_tokens = 901 (still 900)"
        assert line in place.run("status", **more).ok().err
        assert "recall.budget_tokens = 901 (still 900)" in place.run("config", "show", **more).ok().out
        doctor = place.run("doctor", **more)
        assert doctor.code == 1 and line in doctor.out and "→ mcp-memory restart" in doctor.out
        secret = "https://ada:0p3nS3same@llm.test/v1"
        file.write_text(f'[summarizer]\nprovider = "openai"\nendpoint = "{secret}"\n')
        shown = [place.run(command, *last, **more) for command in ("status", "doctor") for last in ((), ("--json",))]
        assert ["0p3nS3same" in ran.out + ran.err for ran in shown] == [False] * 4
        assert all("summarizer.endpoint" in ran.out + ran.err for ran in shown)
        file.write_text("[recall]\nbudget_tokens = 901\n")
        place.run("restart", **more).ok()
        assert place.run("status", "--json", **more).ok().json["not_in_force"] == []
        assert "not in effect" not in place.run("doctor", **more).out
        place.run("stop", **more).ok()
        assert place.run("config", "show", "--json", **more).ok().json["not_in_force"] == []
    finally:
        end(place)
