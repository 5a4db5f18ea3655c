"""Speaks HTTP/1.1 on one connection, one request after the other, each with one deadline.

It doesn't use http.client, which imports the parsers of mail and TLS and adds 25 ms to an agent's start-up. Nor does it
use `contextlib` and `typing`, which would slow down each prompt.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Mapping
from time import monotonic

Peer = str | tuple[str, int]
"""The path of a Unix socket, or an IP address and a port."""

Headers = Mapping[str, str]
"""Headers; an answer has their names in lower case."""

MAX_ANSWER_BYTES = 64_000_000
"""The most bytes of an answer, more than any answer of ours has. A peer that sends more isn't our daemon."""

READ_BYTES = 65_536

END_OF_HEAD = b"\r\n\r\n"


class HttpConnection:
    """A connection, which is open once it is made. It isn't thread-safe, except for `hang_up`.

    All methods raise TimeoutError at the deadline `until` (of time.monotonic), OSError if nothing listens or the peer
    hangs up, and ValueError if the answer isn't HTTP or is too long."""

    def __init__(self, peer: Peer, host: str, until: float) -> None:
        """Connect to `peer`. `host` is the Host header of requests."""
        self._host = host
        self._received = bytearray()
        self._socket = socket.socket(_family(peer), socket.SOCK_STREAM)
        try:
            self._within(until).connect(peer)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> HttpConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def hang_up(self) -> None:
        """End every wait for an answer on this connection."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has hung up already

    @property
    def has_ended(self) -> bool:
        """Whether the peer has hung up. Between two requests it sends nothing else."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def exchange(
        self, method: str, target: str, headers: Headers, body: bytes, until: float
    ) -> tuple[int, Headers, bytes]:
        """Send a request, and return the status, headers and body of the answer."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._host}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        try:
            self._within(until).sendall("\r\n".join([*lines, "", ""]).encode("ascii") + body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all was sent: read why
        first, *lines = self._head(until).decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1."):
            raise ValueError("the answer is not HTTP")
        pairs = (line.partition(":") for line in lines)
        answered = {name.strip().lower(): value.strip() for name, _, value in pairs}
        return int(rest[:3]), answered, self._take(int(answered.get("content-length", -1)), until)

    def _head(self, until: float) -> bytes:
        """Read up to the empty line, and return the bytes before it."""
        while (end := self._received.find(END_OF_HEAD)) < 0:
            if len(self._received) > READ_BYTES:
                raise ValueError("the answer is not HTTP")
            self._receive(until)
        head = bytes(self._received[:end])
        del self._received[: end + len(END_OF_HEAD)]
        return head

    def _take(self, size: int, until: float) -> bytes:
        if not 0 <= size <= MAX_ANSWER_BYTES:
            raise ValueError("the answer has no length, or is too long")
        while len(self._received) < size:
            self._receive(until)
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken

    def _receive(self, until: float) -> None:
        if not (part := self._within(until).recv(READ_BYTES)):
            raise ConnectionResetError("the peer hung up")
        self._received += part

    def _within(self, until: float) -> socket.socket:
        """Return the socket, with its timeout set for one call. That timeout restarts with each byte, `until`
        doesn't."""
        left_s = until - monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._socket.settimeout(left_s)
        return self._socket


def _family(peer: Peer) -> int:
    if isinstance(peer, str):
        return socket.AF_UNIX
    return socket.AF_INET6 if ":" in peer[0] else socket.AF_INET
