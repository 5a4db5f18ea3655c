"""However much one client asks for at once, the others are answered, and so is the person at the command line."""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcp_memory.client.credentials import PERSON
from tests.daemon.place import Place, Running, Served, eventually
from tests.daemon.wire import JSON, Wire
from tests.support.constants import with_constants

MOST = 64
REQUESTS, FOR_ALL = MOST // 4, MOST - 16

SLOW_STORAGE = """
import time
from mcp_memory.storage.filesystem import FilesystemBackend

class SlowStorage(FilesystemBackend):
    def write(self, *arguments, **more):
        while (self.root.parent / "held").exists():
            time.sleep(0.02)  # another process lifts the hold by removing the file
        return super().write(*arguments, **more)
"""

HEAVY_CALLS = 45
"""Of one client at once: more than there are worker threads."""


@pytest.fixture
def served(place: Place, tmp_path: Path) -> Iterator[Served]:
    """A daemon with few connections that answers no append while there is a file `held` beside its vault."""
    facts = tmp_path / "packages" / "slow-1.dist-info"
    facts.mkdir(parents=True)
    (facts.parent / "slow_storage.py").write_text(SLOW_STORAGE)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1\n")
    (facts / "entry_points.txt").write_text("[mcp_memory.storage]\nslow = slow_storage:SlowStorage\n")
    constants = with_constants(facts.parent, daemon_max_connections=MOST, vault_write_deadline_s=600)
    with place.serving(**constants, MCP_MEMORY_VAULT_STORAGE="slow") as served:
        held = place.vault.parent / "held"
        held.touch()
        yield served
        held.unlink(missing_ok=True)


def release(served: Served) -> None:
    (served.place.vault.parent / "held").unlink()


def hold(served: Running, client: str, number: int) -> socket.socket:
    """The connection of an append that isn't answered yet."""
    body, tokens = json.dumps({"content": f"Violet {number}."}).encode(), served.place.credentials
    token = tokens.persons_token() if client == PERSON else tokens.token(client)
    headers = {
        **JSON,
        "Host": served.address.authority,
        "Authorization": f"Bearer {token}",
        "Content-Length": str(len(body)),
    }
    head = "\r\n".join(["POST /api/append HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""])
    connection = socket.create_connection((served.address.host, served.address.port), timeout=30)
    connection.sendall(head.encode() + body)
    return connection


def status_of(connection: socket.socket) -> int:
    said = connection.recv(65536)
    assert said.startswith(b"HTTP/1.1 "), said
    return int(said[9:12])


def answered(connections: list[socket.socket]) -> list[socket.socket]:
    return select.select(connections, [], [], 0)[0]


def call(served: Running, client: str) -> int:
    with Wire(served, client=client) as wire:
        return wire.api("search", {"query": "violet"}).status


def test_requests_of_one_client_keep_nobody_out(served: Served):
    held = [hold(served, "greedy", number) for number in range(2 * REQUESTS)]
    eventually(lambda: len(answered(held)) == REQUESTS)
    refused = answered(held)
    assert {status_of(connection) for connection in refused} == {429}
    assert call(served, "greedy") == 429
    assert call(served, "other") == 200
    assert served.place.run("status", "--json").ok().json["ready"]
    release(served)
    assert {status_of(connection) for connection in held if connection not in refused} == {200}
    assert call(served, "greedy") == 200
    for connection in held:
        connection.close()


def test_the_last_connections_are_the_persons_own(served: Served):
    held = [hold(served, f"agent-{number // REQUESTS}", number) for number in range(FOR_ALL)]
    eventually(lambda: call(served, "one-more") == 503)
    with Wire(served, client="one-more") as wire:
        assert wire.api("search", {"query": "violet"}).json["code"] == "busy"
    assert served.place.run("status", "--json").ok().json["ready"]
    with Wire(served, client="one-more") as wire:
        assert wire.send("POST", "/hook/prompt", b'{"session_id": "1", "prompt": "violet?"}').status == 200
    assert not answered(held)
    release(served)
    eventually(lambda: call(served, "one-more") == 200)
    for connection in held:
        connection.close()


def test_a_daemon_without_a_free_connection_is_called_busy_and_not_absent(served: Served):
    held = [hold(served, PERSON, number) for number in range(MOST)]
    eventually(lambda: served.place.run("status").code == 3)
    for command in (["status"], ["search", "violet"], ["append", "a violet"]):
        ran = served.place.run(*command)
        assert ran.code == 3, ran
        assert "busy" in ran.err and "no daemon" not in ran.err, ran
    release(served)
    eventually(lambda: served.place.run("status").code == 0)
    for connection in held:
        connection.close()


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
