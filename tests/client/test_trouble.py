"""A daemon that is down, hangs, ends, is old or is another program: each request has an answer, and says what to do."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from typing import Any

import psutil
import pytest

from mcp_memory.client import stdio_proxy
from mcp_memory.client.connection import Address, ConnectionPool
from tests.client.peer import Peer, Said, peer, result
from tests.client.shim import HELLO, shim
from tests.daemon.place import CHECKOUT, Place, end, eventually
from tests.support.impostor import REPLIES, impostor

SEARCH = {"name": "memory_search", "arguments": {"query": "x"}}
APPEND = {"name": "memory_append", "arguments": {"content": "x"}}


def test_no_daemon_where_none_has_ever_been(place: Place):
    with shim(place) as client:
        error = client.ask("initialize", HELLO)["error"]
        assert error["data"] == {"code": "not_running"} and "mcp-memory start" in error["message"]
        assert client.ask("tools/call", SEARCH, number="2")["error"]["data"]["code"] == "not_running"
        assert client.end() == 0
    assert not place.state.lock.exists(), "none was started"


def test_the_bundle_of_an_app_makes_the_vault(place: Place):
    """Nobody has a terminal open who installs a bundle: `--create` is `mcp-memory start`."""
    program = (sys.executable, str(CHECKOUT / "configs/mcpb/server.py"))
    try:
        with shim(place, "--vault", str(place.vault), client="desktop", program=program) as client:
            assert "result" in client.ask("initialize", HELLO)
            stored = client.tool("memory_append", {"content": "The bundle works.", "kind": "fact"}, number=2)["result"]
            assert client.end() == 0
        note = place.vault / stored["structuredContent"]["path"]
        assert "source: desktop" in note.read_text(encoding="utf-8")
    finally:
        end(place)


def test_the_daemon_that_it_starts_outlives_its_whole_family(place: Place):
    """opencode kills all processes below its `stdio` child when it ends, others the child's whole group."""
    with place.serving():
        pass
    try:
        with shim(place) as client:
            assert "result" in client.ask("initialize", HELLO)
            daemon = Address.read(place.state.daemon).pid
            family = [client.process.pid, *(each.pid for each in psutil.Process(client.process.pid).children(True))]
            groups = {os.getpgid(pid) for pid in family} - {os.getpgid(0)}
            assert daemon not in family and os.getpgid(daemon) not in groups
            for pid in family:
                os.kill(pid, signal.SIGKILL)
        assert place.run("status", "--json").ok().json["pid"] == daemon
    finally:
        end(place)


def test_another_program_on_its_port_gets_neither_token_nor_text(place: Place):
    token = place.credentials.token("old-client")
    with shim(place) as client:
        for name, reply in REPLIES.items():
            with impostor(place, reply) as heard:
                error = client.tool("memory_search", {"query": "a private question"}, number=name)["error"]
            assert error["data"]["code"] == "not_running", name
            sent = b"".join(heard)
            assert sent and b"private" not in sent and token.encode() not in sent, name


def test_a_reading_call_in_flight_is_asked_again(place: Place):
    def reply(daemon: Peer, message: dict[str, Any]) -> Said:
        return None if len(daemon.heard) == 1 else result(message)

    with peer(place, reply) as daemon, shim(place) as client:
        assert client.ask("tools/call", SEARCH)["result"] == "ok"
    assert [message["method"] for message in daemon.heard] == ["tools/call"] * 2


def test_a_writing_call_in_flight_is_not_and_says_what_to_do(place: Place):
    with peer(place, lambda daemon, _: None) as daemon, shim(place) as client:
        error = client.ask("tools/call", APPEND)["error"]
        assert error["data"]["code"] == "not_running" and "call again with the same arguments" in error["message"]
    assert len(daemon.heard) == 1


def test_a_daemon_that_ends_between_two_calls(place: Place):
    """The kept connection is closed; nothing of the second call was sent over it, so that even a write is safe."""

    def reply(_: Peer, message: dict[str, Any]) -> Said:
        return result(message)

    with shim(place) as client:
        for number in (1, 2):
            with peer(place, reply) as daemon:
                assert client.ask("tools/call", APPEND, number=number)["result"] == "ok"
                assert [message["id"] for message in daemon.heard] == [number]


def test_calls_follow_each_other_on_one_connection(place: Place):
    with peer(place, lambda _, message: result(message)) as daemon, shim(place) as client:
        for number in range(20):
            client.ask("ping", number=number)
        assert len(daemon.connections) == 1


def test_a_call_that_hangs_keeps_no_other_waiting_and_can_be_taken_back(place: Place):
    def reply(daemon: Peer, message: dict[str, Any]) -> Said:
        if message["id"] == "slow":
            daemon.over.wait(60)
        return result(message)

    with peer(place, reply) as daemon, shim(place) as client:
        client.send("tools/call", SEARCH, number="slow")
        eventually(lambda: daemon.heard)
        assert client.ask("ping", number=2)["result"] == "ok"
        for odd in ({}, {"requestId": ["slow"]}, {"requestId": 7}, {"requestId": None}):
            client.send("notifications/cancelled", odd)
        assert not any(map(has_left, daemon.connections))
        client.send("notifications/cancelled", {"requestId": "slow"})
        eventually(lambda: any(map(has_left, daemon.connections)))
        assert client.ask("ping", number=3)["result"] == "ok"
        assert client.end() == 0, "nothing is waited for"
        assert client.rest() == [], "what was taken back has no answer"


def test_a_daemon_that_hangs(place: Place, monkeypatch: pytest.MonkeyPatch):
    """In this process, to wait less than a client would."""
    monkeypatch.setattr(stdio_proxy, "CALL_S", 0.3)
    said: list[bytes] = []

    def reply(daemon: Peer, message: dict[str, Any]) -> Said:
        daemon.over.wait(60)
        return None

    with peer(place, reply) as daemon:
        channels = ConnectionPool(place.state.daemon, place.credentials, lambda: None)
        ours = stdio_proxy.StdioProxy(channels, dict, said.append)
        ours.forward(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": SEARCH}).encode())
        ours.finish(20)
        assert json.loads(said[0])["error"]["data"]["code"] == "deadline_exceeded"
        assert len(daemon.heard) == 1, "it would hang again"


def test_a_daemon_that_is_stopped_and_goes_on(served: Place):
    pid = Address.read(served.state.daemon).pid
    with shim(served) as client:
        os.kill(pid, signal.SIGSTOP)
        try:
            client.send("tools/call", SEARCH, number=1)
            client.send("ping", number=2)
        finally:
            os.kill(pid, signal.SIGCONT)
        assert "result" in client.answer(1) and "result" in client.answer(2)


ODD_ANSWERS = {
    "the request is larger than": (413, b'{"code": "invalid_input", "message": "the request is larger than"}'),
    "no such token": (401, b'{"code": "unauthorized", "message": "no such token"}'),
    "HTTP status 500": (500, b"Internal Server Error"),
    "HTTP status 200": (200, b"<html>"),
    "HTTP status 202": (202, b""),
    "HTTP status 400": (400, b"[" * 100_000),
}


def test_an_answer_that_is_none_in_the_protocol(place: Place):
    def reply(_: Peer, message: dict[str, Any]) -> Said:
        status, body = ODD_ANSWERS[message["id"]]
        return status, "application/json", body

    with peer(place, reply), shim(place) as client:
        for told in ODD_ANSWERS:
            assert told in client.ask("ping", number=told)["error"]["message"]


def test_an_error_without_a_number_and_an_answer_of_many_lines(place: Place):
    def reply(_: Peer, message: dict[str, Any]) -> Said:
        if message["id"] == 1:
            return 400, "application/json", b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32602, "message": "m"}}'
        return 200, "application/json", json.dumps({"jsonrpc": "2.0", "id": 2, "result": "a\nb"}, indent=2).encode()

    with peer(place, reply), shim(place) as client:
        assert client.ask("ping", number=1)["error"] == {"code": -32602, "message": "m"}
        assert client.ask("ping", number=2)["result"] == "a\nb"


def test_a_client_that_was_revoked(served: Place):
    with shim(served, client="banned") as client:
        assert "result" in client.ask("ping")
        served.run("clients", "token", "--client", "banned", "--revoke").ok()
        error = client.ask("ping", number=2)["error"]
        assert error["data"]["code"] == "refused" and "--rotate" in error["message"]
        served.run("clients", "token", "--client", "banned", "--rotate").ok()
        assert "result" in client.ask("ping", number=3)


def has_left(connection: socket.socket) -> bool:
    """Whether the client has hung up."""
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
