"""A token that got out: who holds it is known, it can be taken back for good, and we ourselves never show it."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from mcp_memory.daemon.instance import is_held
from tests.daemon.place import Place, eventually
from tests.daemon.wire import Wire


def test_a_revocation_lasts_until_a_person_takes_it_back(place: Place):
    with place.serving() as served:
        first = place.run("clients", "token", "--client", "codex").ok().out.strip()
        with Wire(served) as wire:
            assert wire.api("status", token=first).status == 200
            place.run("clients", "token", "--client", "codex", "--revoke").ok()
            assert wire.api("status", token=first).status == 401, "from the very next call on"
            for command in (["headers"], ["clients", "token"]):
                ran = place.run(*command, "--client", "codex")
                assert ran.code == 1
                assert "was revoked" in ran.err
                assert "token --client codex --rotate" in ran.err
                assert "Bearer" not in ran.out
            assert wire.api("status", token=first).status == 401
            again = place.run("clients", "token", "--client", "codex", "--rotate").ok().out.strip()
            assert place.run("headers", "--client", "codex").ok().json["Authorization"] == f"Bearer {again}"
            assert wire.api("status", token=again).status == 200
            assert wire.api("status", token=first).status == 401
            assert wire.api("status").status == 200, "nobody else was meant"


def test_no_token_where_others_can_see_it(tmp_path: Path):
    """Command lines, environments and the log, of the daemon and of its child that compiles a model; then both die."""
    place = Place(tmp_path, tmp_path / "models").make()
    # Of a fork, the system would show the command line and the environment of another process.
    with place.serving(wrapper=("env",), MCP_MEMORY_DAEMON_LOG_LEVEL="debug") as served:
        tokens = [served.token(client) for client in ("cli", "codex", "default")]
        with Wire(served, client="codex") as wire:
            wire.api("status")
            wire.tool("memory_search", {"query": "anything"})
            wire.send("GET", f"/mcp?token={tokens[1]}")
            wire.send("GET", f"/{tokens[1]}", token="wrong")
        daemon = psutil.Process(served.process.pid)
        child = compiler_of(daemon)
        for process in (daemon, child):
            seen = " ".join([*process.cmdline(), *process.environ().values()])
            assert "mcp_memory" in seen
            assert [token for token in tokens if token in seen] == []
        assert [token for token in tokens if token in served.journal] == []
        holding = [file for file in place.root.rglob("*") if file.is_file() and tokens[1].encode() in file.read_bytes()]
        assert holding == [place.state.tokens]
        served.process.kill()
        served.process.wait(10)
        assert not is_held(place.state), "its child is no owner"
        with pytest.raises(psutil.NoSuchProcess):
            child.wait(20)
            child.status()


def compiler_of(daemon: psutil.Process) -> psutil.Process:
    return eventually(daemon.children, within_s=60)[0]
