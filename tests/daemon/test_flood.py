"""One daemon under everything that its connections can do to it: another client's calls go on, and all is freed."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
import pytest

from mcp_memory.daemon.logging import MOST_A_MINUTE
from tests.daemon.place import Place, Running, Served, eventually
from tests.daemon.wire import Wire, raw
from tests.support.constants import with_constants

TIMEOUT_S = 3
SESSIONS, HALF_OPEN, TRICKLERS, READERS, LARGE, RAPID = 256, 500, 20, 2, 5, 2000
NOTE_BYTES = 700_000
FDS_MORE = 5


@pytest.fixture
def served(place: Place) -> Iterator[Served]:
    with place.serving(**with_constants(daemon_transfer_timeout_s=TIMEOUT_S)) as served:
        yield served


def test_another_clients_calls_go_on_and_all_is_freed(served: Served):
    process = psutil.Process(served.process.pid)
    with Wire(served) as wire:
        assert wire.api("append", {"content": "Anna keeps the bees behind the chapel."}).status == 200
        large = wire.api("append", {"content": "a long story\n\n" + "word " * (NOTE_BYTES // 5), "kind": "fact"}).json
    before = process.num_fds()
    sessions = [Wire(served, client=f"session-{n % 8}") for n in range(SESSIONS)]
    assert [call(session) for session in sessions] == [200] * SESSIONS
    with a_client_that_calls(served) as times:
        held = [connect(served, b"POST /mcp HTTP/1.1\r\nHost: half") for _ in range(HALF_OPEN)]
        readers = [connect(served, many_recalls(served, large["id"]), receive_bytes=4096) for _ in range(READERS)]
        with trickling(served):
            with ThreadPoolExecutor(LARGE) as pool:
                assert set(pool.map(lambda _: send_10_mb(served), range(LARGE))) == {413}
            for n in range(RAPID):
                hang_up(connect(served), rudely=n % 2 == 0)
            assert [call(session) for session in sessions] == [200] * SESSIONS
            # Read any sooner, they would be given all of it, and stay as idle as any other.
            eventually(lambda: not {each.getsockname() for each in readers} & peers(process))
            for connection in [*held, *readers]:
                assert ends(connection)
    print(f"{len(times)} calls meanwhile, median {statistics.median(times):.1f} ms, longest {max(times):.0f} ms")
    for session in sessions:
        session.close()
    eventually(lambda: process.num_fds() <= before + FDS_MORE)
    assert " ERROR " not in served.journal
    assert "Traceback" not in served.journal
    assert served.journal.count("the longest idle one was closed") <= 2 * MOST_A_MINUTE
    assert served.terminate() == 0


def test_few_open_files_mean_few_connections(place: Place):
    """Twice as many half-open ones as the system allows files: a client is answered, and a note can be written."""
    files = 96
    limited = ("sh", "-c", f'ulimit -n {files} && exec "$@"', "sh")
    with place.serving(wrapper=limited, **with_constants(daemon_transfer_timeout_s=TIMEOUT_S)) as served:
        held = [connect(served, b"GET /") for _ in range(2 * files)]
        with Wire(served) as wire:
            assert call(wire) == 200
            assert wire.api("append", {"content": "written meanwhile"}).status == 200
        for connection in held:
            assert ends(connection)
        assert "room for" in served.journal
        assert "Traceback" not in served.journal
        assert served.terminate() == 0


def call(wire: Wire) -> int:
    """The status of one call; as HTTP clients do, on a new connection where the idle one was closed."""
    try:
        return wire.api("search", {"query": "chapel"}).status
    except (OSError, http.client.HTTPException):
        return wire.api("search", {"query": "chapel"}).status


@contextmanager
def a_client_that_calls(served: Running) -> Iterator[list[float]]:
    """Calls on one connection, without a pause, until the block ends; the milliseconds of each."""
    times: list[float] = []
    over = threading.Event()
    faults: list[object] = []

    def go_on() -> None:
        with Wire(served, client="other") as wire:
            while not over.is_set():
                began = time.perf_counter()
                try:
                    answer = wire.api("search", {"query": "chapel"})
                    if answer.status != 200:
                        faults.append(answer)
                except (OSError, http.client.HTTPException) as error:
                    faults.append(error)
                times.append(1000 * (time.perf_counter() - began))

    caller = threading.Thread(target=go_on)
    caller.start()
    try:
        yield times
    finally:
        over.set()
        caller.join(60)
    assert faults == []


@contextmanager
def trickling(served: Running) -> Iterator[None]:
    host = f"Host: 127.0.0.1:{served.address.port}"
    who = f"Authorization: Bearer {served.token()}"
    rest = ["Content-Type: application/json", "Accept: application/json, text/event-stream", "Content-Length: 100000"]
    lines = [
        [f"POST {route} HTTP/1.1", host, *token, *rest] for route in ("/mcp", "/api/search") for token in ([], [who])
    ]
    heads = ["\r\n".join([*head, "", ""]).encode() for head in lines]
    over = threading.Event()
    slow = [connect(served, heads[n % len(heads)]) for n in range(TRICKLERS)]

    def trickle() -> None:
        while not over.wait(0.05):
            for connection in slow:
                with contextlib.suppress(OSError):
                    connection.send(b" ")

    trickler = threading.Thread(target=trickle)
    trickler.start()
    try:
        yield
        for connection in slow:
            assert ends(connection)
    finally:
        over.set()
        trickler.join()


def peers(process: psutil.Process) -> set[tuple[str, int]]:
    """Who is connected with it."""
    return {tuple(each.raddr) for each in process.net_connections() if each.raddr}


def many_recalls(served: Running, note: str) -> bytes:
    """Requests for more text than the buffers between us hold, one behind the other."""
    body = json.dumps({"ids": [note], "budget_tokens": 200_000}).encode()
    head = [
        "POST /api/recall HTTP/1.1",
        f"Host: 127.0.0.1:{served.address.port}",
        f"Authorization: Bearer {served.token()}",
        f"Content-Length: {len(body)}",
    ]
    return ("\r\n".join([*head, "", ""]).encode() + body) * 12


def send_10_mb(served: Running) -> int:
    head = ["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{served.address.port}", "Content-Length: 10000000"]
    return raw(served, head, b"x" * 10_000_000).status


def connect(served: Running, sent: bytes = b"", *, receive_bytes: int | None = None) -> socket.socket:
    connection = socket.socket()
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.settimeout(30)
    connection.connect((served.address.host, served.address.port))
    with contextlib.suppress(OSError):  # it may have had to make room already
        connection.sendall(sent)
    return connection


def hang_up(connection: socket.socket, *, rudely: bool) -> None:
    if rudely:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def ends(connection: socket.socket) -> bool:
    """Whether the daemon closes it; what it says before that is read away, since only then is the end seen."""
    with connection:
        try:
            while connection.recv(1 << 20):
                pass
        except ConnectionError:
            pass
        return True
