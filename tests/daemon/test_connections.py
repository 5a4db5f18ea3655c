"""Connections under limits, to the byte: a small app under the protocol class that the daemon serves with."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
import pytest
import uvicorn

from mcp_memory.daemon.connections import ConnectionLimits
from tests.daemon.place import eventually

PATIENCE_S = 0.5
BIG = 30_000_000
LONG_S = 30


class App:
    """`/early` answers before it reads the body, `/wait` when released, `/big` with more than any buffer holds."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.working = 0

    async def __call__(self, scope, receive, send) -> None:
        body = b"ok"
        if scope["path"] == "/wait":
            self.working += 1
            await self.release.wait()
        elif scope["path"] == "/big":
            body = b"x" * BIG
        if scope["path"] != "/early":
            while (message := await receive()).get("more_body"):
                pass
            if message["type"] == "http.disconnect":
                return
        await send({"type": "http.response.start", "status": 200, "headers": [length(body)]})
        await send({"type": "http.response.body", "body": body})


def length(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", str(len(body)).encode()


class Site:
    """The app, served in a thread of its own."""

    def __init__(self, connections: ConnectionLimits) -> None:
        self.app = App()
        self.connections = connections
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.server = uvicorn.Server(
            uvicorn.Config(
                self.app, http=connections.protocol(), lifespan="off", log_config=None, timeout_keep_alive=LONG_S,
                timeout_graceful_shutdown=5,
            )
        )  # fmt: skip
        self.loop: asyncio.AbstractEventLoop | None = None

    def run(self) -> None:
        async def serve() -> None:
            self.loop = asyncio.get_running_loop()
            self.loop.set_exception_handler(self.connections.complain)
            await self.server.serve(sockets=[self.listening])

        asyncio.run(serve())

    def connect(self, sent: bytes = b"", *, receive_bytes: int | None = None) -> socket.socket:
        connection = socket.socket()
        if receive_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.settimeout(LONG_S)
        connection.connect(("127.0.0.1", self.port))
        connection.sendall(sent)
        return connection

    def release(self) -> None:
        assert self.loop
        self.loop.call_soon_threadsafe(self.app.release.set)

    @property
    def open(self) -> int:
        return len(self.server.server_state.connections)


@contextmanager
def serving(*, most: int = 100, patience_s: float = PATIENCE_S) -> Iterator[Site]:
    site = Site(ConnectionLimits(most=most, patience_s=patience_s))
    thread = threading.Thread(target=site.run)
    thread.start()
    try:
        eventually(lambda: site.server.started)
        yield site
    finally:
        site.release()
        site.server.should_exit = True
        thread.join(LONG_S)
        assert not thread.is_alive()


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", *headers, "", ""]).encode()


def answer(connection: socket.socket) -> bytes:
    """One answer with its body."""
    said = b""
    while b"\r\n\r\nok" not in said:
        more = connection.recv(65536)
        assert more, said
        said += more
    return said


def is_closed(connection: socket.socket) -> bool:
    """Whether it ends within LONG_S; what comes before is read away."""
    deadline = time.monotonic() + LONG_S
    try:
        while connection.recv(1 << 20):
            if time.monotonic() > deadline:
                return False
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


UNFINISHED = {
    "nothing": b"",
    "half a line": b"GET /x HT",
    "half a head": b"GET / HTTP/1.1\r\nHost: x\r\n",
    "half a body": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345",
    "half a chunk": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    "half a body that was answered": b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345",
    "half a second head": get("/") + b"GET / HT",
}


def test_what_does_not_arrive_whole_is_cut_off():
    with serving() as site:
        for name, connection in {name: site.connect(sent) for name, sent in UNFINISHED.items()}.items():
            assert is_closed(connection), name
            connection.close()
        eventually(lambda: site.open == 0)


def test_a_request_that_waits_for_its_turn_is_not_cut_off():
    """Of a long body the daemon reads on only then, and only then the client's time runs again."""
    size = 4_000_000
    head = f"POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode()
    with serving() as site, ThreadPoolExecutor() as pool:
        whole, half = site.connect(), site.connect()
        for connection, body in ((whole, b"x" * size), (half, b"x" * (size - 1))):
            pool.submit(connection.sendall, head + body)
        eventually(lambda: site.app.working == 2)
        time.sleep(2 * PATIENCE_S)
        site.release()
        assert answer(whole)
        assert is_closed(half)


def test_a_reader_that_does_not_take_its_answer_is_cut_off():
    with serving() as site:
        readers = [site.connect(get("/big", *more), receive_bytes=4096) for more in ([], ["Connection: close"])]
        eventually(lambda: site.open == 2)
        eventually(lambda: site.open == 0)
        for reader in readers:
            taken = 0
            with reader, contextlib.suppress(ConnectionResetError):
                while got := len(reader.recv(1 << 20)):
                    taken += got
            assert taken < BIG


def test_a_reader_that_takes_its_answer_gets_all_of_it():
    with serving() as site, site.connect(get("/big")) as connection:
        taken = 0
        while got := len(connection.recv(1 << 20)):
            taken += got
            if taken >= BIG:
                break
        assert taken >= BIG, "it was cut off"


def test_an_idle_connection_outlives_the_patience_with_a_slow_one():
    """Also one that had its answer before it had sent its body, which uvicorn itself would then keep for ever."""
    early = UNFINISHED["half a body that was answered"]
    with serving() as site, site.connect(get("/")) as idle, site.connect(early + b"67890") as rash:
        answer(idle)
        answer(rash)
        with site.connect() as slow:
            assert is_closed(slow)
        timers = [connection.timeout_keep_alive_task for connection in site.server.server_state.connections]
        assert len(timers) == 2
        assert all(timers), "and none of them is kept for ever"
        for connection in (idle, rash):
            connection.sendall(get("/"))
            assert b"200 OK" in answer(connection)


def test_a_call_may_take_longer_than_its_request():
    with serving() as site, site.connect(get("/wait")) as patient:
        with site.connect() as slow:
            assert is_closed(slow)
        site.release()
        assert b"200 OK" in answer(patient)


def test_one_too_many_makes_the_longest_idle_one_go(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING), serving(most=4, patience_s=LONG_S) as site:
        clients = []
        for _ in range(4):
            clients.append(site.connect(get("/")))
            answer(clients[-1])
        clients[0].sendall(get("/"))  # so that the second is now the one that was silent for longest
        answer(clients[0])
        new = site.connect(get("/"))
        assert b"200 OK" in answer(new)
        assert clients[1].recv(1) == b""
        for client in (clients[0], clients[2], clients[3], new):
            client.sendall(get("/"))
            assert b"200 OK" in answer(client)
        for _ in range(20):
            clients.append(site.connect(get("/")))
            answer(clients[-1])
        for client in (*clients, new):
            client.close()
    told = [record.getMessage() for record in caplog.records]
    assert {*told} == {"more than 4 connections: the longest idle one was closed"}, "the log file limits such lines"


def test_half_open_ones_never_keep_a_client_out():
    with serving(most=8, patience_s=LONG_S) as site:
        half_open = [site.connect(b"GET / HT") for _ in range(50)]
        with site.connect(get("/")) as client:
            assert b"200 OK" in answer(client)
        assert site.open <= 8
        for connection in half_open:
            connection.close()


def test_where_all_are_at_work_a_new_one_is_turned_away():
    with serving(most=3, patience_s=LONG_S) as site:
        busy = [site.connect(get("/wait")) for _ in range(3)]
        eventually(lambda: site.app.working == 3)
        with site.connect() as refused:
            assert refused.recv(1000).startswith(b"HTTP/1.1 503 ")
            assert is_closed(refused)
        site.release()
        for connection in busy:
            assert b"200 OK" in answer(connection)
        with site.connect(get("/")) as welcome:
            assert b"200 OK" in answer(welcome)
        for connection in busy:
            connection.close()


def test_garbage_after_an_early_answer_is_no_bug_of_ours(caplog: pytest.LogCaptureFixture):
    head = b"POST /early HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with caplog.at_level(logging.ERROR), serving() as site, site.connect(head) as connection:
        answer(connection)
        connection.sendall(b"garbage\r\n")
        assert is_closed(connection)
    assert caplog.records == []


def test_a_drain_answers_what_is_here_and_says_goodbye():
    with serving(patience_s=LONG_S) as site:
        idle, half_open = site.connect(get("/")), site.connect(b"GET / HT")
        answer(idle)
        half_body = site.connect(UNFINISHED["half a body"])
        working = site.connect(get("/wait"))
        eventually(lambda: site.app.working == 1 and site.open == 4)
        site.server.should_exit = True
        for connection in (idle, half_open, half_body):
            assert is_closed(connection)
        with pytest.raises(ConnectionRefusedError):
            site.connect()
        site.release()
        said = answer(working)
        assert b"200 OK" in said
        assert b"connection: close" in said.lower()
        assert is_closed(working)


def test_without_a_descriptor_left_there_is_no_traceback_and_then_it_goes_on(caplog: pytest.LogCaptureFixture):
    """asyncio's own handler writes a traceback for each connection that it cannot accept, hundreds in a second."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with caplog.at_level(logging.WARNING), serving(patience_s=LONG_S) as site:
        waiting = [socket.socket() for _ in range(20)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (psutil.Process().num_fds() + 1, hard))
        try:
            os.close(os.dup(0))  # there is one left, and it goes to the first
            for connection in waiting:
                connection.settimeout(LONG_S)
                connection.connect(("127.0.0.1", site.port))
                connection.sendall(get("/", "Connection: close"))
            eventually(lambda: any("descriptor" in record.getMessage() for record in caplog.records))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for connection in waiting:
            assert b"200 OK" in answer(connection)
            connection.close()
    told = [record for record in caplog.records if record.name.startswith(("mcp_memory", "asyncio"))]
    assert told
    assert not any(record.exc_info for record in told)


def test_what_is_tried_again_once_the_socket_is_closed_is_no_bug_of_ours(caplog: pytest.LogCaptureFixture):
    async def end_meanwhile() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(ConnectionLimits(most=1, patience_s=LONG_S).complain)
        closed = socket.create_server(("127.0.0.1", 0))
        closed.close()
        loop.call_soon(loop._start_serving, None, closed)
        loop.call_soon(int, "a bug of ours")
        await asyncio.sleep(0)

    asyncio.run(end_meanwhile())
    assert [record.getMessage() for record in caplog.records] == ["Exception in callback int"]
