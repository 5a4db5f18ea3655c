"""A program that answers at a daemon's address and is none."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mcp_memory.client.connection import Address
from tests.daemon.place import Place

Reply = Callable[[bytes], bytes]


@contextmanager
def impostor(place: Place, reply: Reply, *, drip_s: float = 0) -> Iterator[list[bytes]]:
    """A program that answers each request at the address in `daemon.json`; yields what it was sent."""
    heard: list[bytes] = []
    over = threading.Event()
    place.state.make()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        Address("127.0.0.1", listening.getsockname()[1], "", 1, "0.1.0", str(place.vault)).write(place.state.daemon)

        def answer(connection: socket.socket) -> None:
            with connection:
                try:
                    heard.append(connection.recv(65536))
                    said = reply(heard[-1])
                    if not drip_s:
                        connection.sendall(said)
                        return
                    for byte in said:
                        if over.wait(drip_s):
                            return
                        connection.sendall(bytes([byte]))
                except OSError:
                    return

        def accept() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield heard
        finally:
            over.set()
            listening.shutdown(socket.SHUT_RDWR)
            place.state.daemon.unlink(missing_ok=True)


def http(body: bytes, status: str = "200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        status.encode(), len(body), body,
    )  # fmt: skip


def health(**facts: object) -> Reply:
    return lambda _: http(json.dumps({"service": "mcp-memory", "version": "0.1.0", "pid": 1, **facts}).encode())


REPLIES: dict[str, Reply] = {
    "no proof": health(),
    "a made-up proof": health(proof="0" * 64),
    "an empty proof": health(proof=""),
    "a proof that is no text": health(proof=None),
    "the nonce itself": lambda request: health(proof=request.split(b"nonce=")[-1][:32].decode("latin-1"))(request),
    "a redirect": lambda _: http(b"{}", "302 Found\r\nLocation: http://evil.example/health"),
    "a demand for the token": lambda _: http(b"{}", "401 Unauthorized\r\nWWW-Authenticate: Bearer"),
    "garbage": lambda _: b"\xff\x00 hello",
    "nothing": lambda _: b"",
    "an answer cut short": lambda request: health(proof="0" * 64)(request)[:-1],
    "no JSON": lambda _: http(b"<html>"),
    "a list": lambda _: http(b"[]"),
    "a megabyte": lambda _: http(b"x" * 1_000_000),
}
