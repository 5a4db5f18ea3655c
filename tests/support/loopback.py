"""The HTTP server under the tests' stubs: a free port of this machine, a thread for each connection."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LoopbackServer(ThreadingHTTPServer):
    """A client that hangs up, as one that is killed does, is no error of the stub's: any other one is printed."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    def handle_error(self, *connection: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*connection)
