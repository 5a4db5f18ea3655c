"""One HTTP/1.1 request and its answer over a socket, with one deadline for all of it.

http.client brings along the parsers of mail and TLS: 25 ms of imports, which an agent's start-up would wait for.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from time import monotonic

MAX_ANSWER_BYTES = 64_000_000
"""More than any answer of ours: whatever sends more is not our daemon."""

READ_BYTES = 65_536


def exchange(
    peer: str | tuple[str, int],
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes,
    deadline_s: float,
) -> tuple[int, bytes]:
    """Status and body of the answer. `peer` is a Unix socket's path, or an IP address and a port.

    Raises TimeoutError at the deadline, OSError where nobody listens or the peer hangs up, ValueError for an answer
    that is not HTTP, is cut short or too long.
    """
    until = monotonic() + deadline_s
    with socket.socket(_family(peer), socket.SOCK_STREAM) as connection:
        connection.settimeout(deadline_s)
        connection.connect(peer)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused before all was sent: read why
            connection.sendall(_request(method, target, headers, body))
        return _parsed(_received(connection, until))


def _family(peer: str | tuple[str, int]) -> int:
    if isinstance(peer, str):
        return socket.AF_UNIX
    return socket.AF_INET6 if ":" in peer[0] else socket.AF_INET


def _request(method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Connection: close", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def _received(connection: socket.socket, until: float) -> bytes:
    """All that the peer sends until it hangs up. A socket's timeout starts anew with each byte; `until` does not."""
    received = bytearray()
    while True:
        left_s = until - monotonic()
        if left_s <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        if not (part := connection.recv(READ_BYTES)):
            return bytes(received)
        received += part
        if len(received) > MAX_ANSWER_BYTES:
            raise ValueError("the answer is too long")


def _parsed(received: bytes) -> tuple[int, bytes]:
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("the answer is not HTTP")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if int(headers.get("content-length", -1)) != len(body):
        raise ValueError("the answer was cut short")
    return int(rest[:3]), body
