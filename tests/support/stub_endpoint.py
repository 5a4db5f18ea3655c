"""An HTTP server on a free port of this machine that answers as a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.loopback import LoopbackServer

Answer = tuple[int, Any, dict[str, str]]
"""Status, body and headers. Bytes are sent as they are and an iterator piece by piece, anything else as JSON."""
Step = Callable[[dict[str, Any]], Answer] | Answer | None
"""None drops the connection."""


class StubEndpoint:
    """Answers by `script`, one entry a call, and then by `good`; keeps what it was asked."""

    def __init__(self, good: Callable[[dict[str, Any]], Answer]) -> None:
        self.script: list[Step] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append({"path": self.path, **request})
                endpoint.headers.append(dict(self.headers))
                step = endpoint.script.pop(0) if endpoint.script else good
                if step is None:
                    self.close_connection = True
                    return
                status, body, headers = step(request) if callable(step) else step
                with suppress(OSError):  # who asked may have gone
                    self._send(status, body, headers)

            def _send(self, status: int, body: Any, headers: dict[str, str]) -> None:
                self.send_response(status)
                if isinstance(body, Iterator):
                    pieces, length = body, 1_000_000
                else:
                    data = body if isinstance(body, bytes) else json.dumps(body).encode()
                    pieces, length = iter([data]), len(data)
                for name, value in {"Content-Length": str(length), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                for piece in pieces:
                    self.wfile.write(piece)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = LoopbackServer(Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/v1"


@contextmanager
def serving(good: Callable[[dict[str, Any]], Answer]) -> Iterator[StubEndpoint]:
    endpoint = StubEndpoint(good)
    threading.Thread(target=endpoint.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield endpoint
    finally:
        endpoint.server.shutdown()
        endpoint.server.server_close()
