"""The server under the stubs says nothing of clients that hang up, and hides nothing else."""

from __future__ import annotations

import socket
import struct
from http.server import BaseHTTPRequestHandler

import pytest

from tests.support.loopback import LoopbackServer

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER without a time: closing resets the connection."""


class Broken(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        raise ValueError("a fault of the stub's own")


@pytest.mark.parametrize(("sent", "printed"), [(b"", ""), (b"GET / HTTP/1.0\r\n\r\n", "a fault of the stub's own")])
def test_only_an_error_of_its_own_is_printed(sent: bytes, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with LoopbackServer(Broken) as server, socket.create_connection(server.server_address) as client:
        client.sendall(sent)
        if not sent:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            client.close()
        server.daemon_threads = False  # so that closing waits for the connection's thread
        server.handle_request()
        server.server_close()
    said = capsys.readouterr().err
    assert printed in said and bool(said) is bool(printed)
