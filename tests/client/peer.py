"""A daemon that proves itself and then does as a test says: hangs, hangs up, answers with anything."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mcp_memory import __version__
from mcp_memory.client.connection import Address
from tests.daemon.place import Place
from tests.support.loopback import LoopbackServer

Said = tuple[int, str, bytes] | None
"""Status, content type and body; None hangs up."""


class Peer:
    """`heard` are the messages in the order in which they came."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.connections: list[socket.socket] = []
        self.over = threading.Event()


def result(message: dict[str, Any], value: Any = "ok") -> Said:
    return 200, "application/json", json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": value}).encode()


@contextmanager
def peer(place: Place, reply: Callable[[Peer, dict[str, Any]], Said]) -> Iterator[Peer]:
    """Serves the vault of this place."""
    seen = Peer()
    place.state.make()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            seen.connections.append(self.connection)

        def do_GET(self) -> None:
            nonce = parse_qs(urlsplit(self.path).query)["nonce"][0]
            proof = place.credentials.proof(nonce, f"127.0.0.1:{port}")
            self._say(200, "application/json", json.dumps({"proof": proof}).encode())

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.heard.append(message)
            said = reply(seen, message)
            if said is None:
                self.close_connection = True
                return
            self._say(*said)

        def _say(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with LoopbackServer(Handler) as server:
        port = server.server_address[1]
        Address("127.0.0.1", port, "", 1, __version__, str(place.vault)).write(place.state.daemon)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield seen
        finally:
            seen.over.set()
            server.shutdown()
            for connection in seen.connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            place.state.daemon.unlink(missing_ok=True)
