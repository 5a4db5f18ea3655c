"""However much one client asks for at once, the others are answered, and so is the person at the command line."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcp_memory.client.credentials import PERSON
from tests.daemon.place import Place, Running, Served, eventually
from tests.daemon.wire import JSON, SESSIONLESS, Wire
from tests.support.constants import with_constants

MOST = 64
REQUESTS, STREAMS, FOR_ALL = MOST // 4, MOST // 8, MOST - 16

LISTEN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "subscriptions/listen",
    "params": {
        "notifications": {"resourceSubscriptions": ["memory://tree"]},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": SESSIONLESS,
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}

HEAVY_CALLS = 45
"""Of one client at once: more than there are worker threads."""


@pytest.fixture
def served(place: Place) -> Iterator[Served]:
    with place.serving(**with_constants(daemon_max_connections=MOST)) as served:
        yield served


def listen(served: Running, client: str) -> tuple[socket.socket, int]:
    """A stream that is held open, and the status with which it began."""
    body, tokens = json.dumps(LISTEN).encode(), served.place.credentials
    token = tokens.persons_token() if client == PERSON else tokens.token(client)
    headers = {
        **JSON,
        "Host": served.address.authority,
        "Authorization": f"Bearer {token}",
        "MCP-Protocol-Version": SESSIONLESS,
        "Mcp-Method": "subscriptions/listen",
        "Content-Length": str(len(body)),
    }
    head = "\r\n".join(["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""])
    connection = socket.create_connection((served.address.host, served.address.port), timeout=30)
    connection.sendall(head.encode() + body)
    said = connection.recv(65536)
    assert said.startswith(b"HTTP/1.1 "), said
    return connection, int(said[9:12])


def call(served: Running, client: str) -> int:
    with Wire(served, client=client) as wire:
        return wire.api("search", {"query": "violet"}).status


def test_streams_of_one_client_keep_nobody_out(served: Served):
    streams = [listen(served, "greedy") for _ in range(MOST)]
    assert [status for _, status in streams] == [200] * STREAMS + [429] * (MOST - STREAMS)
    assert call(served, "greedy") == 200, "it may still call"
    assert call(served, "other") == 200
    assert served.place.run("status", "--json").ok().json["ready"]
    for connection, _ in streams:
        connection.close()
    eventually(lambda: listen(served, "greedy")[1] == 200)


def test_the_last_connections_are_the_persons_own(served: Served):
    streams = [listen(served, f"agent-{number // STREAMS}") for number in range(FOR_ALL)]
    assert {status for _, status in streams} == {200}
    with Wire(served, client="one-more") as wire:
        answer = wire.api("search", {"query": "violet"})
        assert (answer.status, answer.json["code"]) == (503, "busy")
    assert served.place.run("status", "--json").ok().json["ready"]
    with Wire(served, client="one-more") as wire:
        assert wire.send("POST", "/hook/prompt", b'{"session_id": "1", "prompt": "violet?"}').status == 200
    for connection, _ in streams:
        connection.close()
    eventually(lambda: call(served, "one-more") == 200)


def test_a_daemon_without_a_free_connection_is_called_busy_and_not_absent(served: Served):
    streams = [listen(served, PERSON)[0] for _ in range(MOST)]
    for command in (["status"], ["search", "violet"], ["append", "a violet"]):
        ran = served.place.run(*command)
        assert ran.code == 3, ran
        assert "busy" in ran.err and "no daemon" not in ran.err, ran
    for connection in streams:
        connection.close()
    eventually(lambda: served.place.run("status").code == 0)


def test_heavy_calls_of_one_client_leave_threads_to_the_others(place: Place):
    with place.serving() as served:
        abuse_it(served)


def abuse_it(served: Served) -> None:
    blank = "\n" * 900_000 + "word " * 10_000
    question = ("in 2023 3/4/2023 " * 1000)[:10_000]
    over = threading.Event()
    with Wire(served, client="other") as wire, ThreadPoolExecutor(HEAVY_CALLS) as pool:

        def abuse(number: int) -> None:
            with Wire(served, client="greedy") as greedy:
                while not over.is_set():
                    heavy = (
                        ("append", {"content": f"{blank}{number}"})
                        if number % 3 == 0
                        else ("search", {"query": question})
                    )
                    assert greedy.api(*heavy).status in {200, 504}

        abusers = [pool.submit(abuse, number) for number in range(HEAVY_CALLS)]
        waited: list[float] = []
        try:
            for number in range(15):
                began = time.monotonic()
                assert wire.api("search", {"query": f"violet {number}"}).status == 200
                waited.append(time.monotonic() - began)
                answer = wire.api("append", {"content": f"A violet stands at window {number}."})
                assert answer.status == 200 and answer.json["outcome"] == "created", answer
        finally:
            over.set()
        for abuser in abusers:
            abuser.result()
    assert max(waited) < 10, "it waited for all that the other client has asked for"
