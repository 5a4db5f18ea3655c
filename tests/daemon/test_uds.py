"""A Unix socket instead of a port: private, and as good for the command line."""

from __future__ import annotations

import http.client
import json
import socket
import stat

from tests.client.shim import shim
from tests.daemon.place import STOP_S, Place


def test_serving_over_a_socket(place: Place):
    path = place.root / "run" / "memory.sock"
    with place.serving("--uds", "run/memory.sock") as served:
        assert served.address.uds == str(path), "absolute, so that others find it"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        receipt = place.run("append", "--json", "through the socket").ok().json
        assert place.run("search", "--json", "socket").ok().json["hits"][0]["id"] == receipt["id"]
        status = place.run("status", "--json").ok().json
        assert status["uds"] == str(path)
        assert ":0" not in status["url"]
        assert str(path) in place.run("status").ok().out
        assert place.run("headers", "--client", "x").ok().json["Authorization"].startswith("Bearer ")
        with shim(place) as client:
            assert "result" in client.ask("ping"), "for clients that could not use the socket themselves"
        assert health(path, "localhost") == 200
        assert health(path, "evil.example") == 421
        assert served.terminate() == 0
    assert place.run("status").code == 3 and not path.exists()


def test_start_listens_on_a_socket_and_install_connects_clients_through_the_program(place: Place):
    path = place.root / "run" / "memory.sock"
    try:
        assert str(path) in place.run("start", "--uds", str(path)).ok().out
        assert place.run("start", "--uds", str(path), "--port", "1").code == 2
        place.run("install", "claude-code", "--yes").ok()
    finally:
        place.run("stop").ok()
    (entry,) = json.loads((place.home / ".claude.json").read_text())["mcpServers"].values()
    assert "stdio" in entry["args"] and "url" not in entry


def test_a_dead_daemons_socket_is_taken_over(place: Place):
    path = place.root / "run" / "memory.sock"
    with place.serving("--uds", str(path)) as served:
        served.process.kill()
        served.process.wait(STOP_S)
    assert path.exists()
    with place.serving("--uds", str(path)):
        assert health(path, "localhost") == 200


def test_a_folder_that_others_enter_or_a_file_in_the_way(place: Place):
    public = place.root / "public"
    public.mkdir(mode=0o755)
    ran = place.run("serve", "--uds", str(public / "memory.sock"))
    assert ran.code == 2
    assert f"others can enter {public}" in ran.err
    public.chmod(0o700)
    (public / "memory.sock").write_text("somebody's file")
    ran = place.run("serve", "--uds", str(public / "memory.sock"))
    assert ran.code == 2
    assert (public / "memory.sock").read_text() == "somebody's file"
    ran = place.run("serve", "--uds", str(public / ("x" * 200)))
    assert ran.code == 2
    assert "Traceback" not in ran.err


def health(path, host: str) -> int:
    connection = http.client.HTTPConnection(host)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.connect(str(path))
    connection.request("GET", "/health")
    status = connection.getresponse().status
    connection.close()
    return status
