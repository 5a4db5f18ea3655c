"""The HTTP side of a stubbed model: loopback only, a free port, one line of JSON in the log for each request."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.clients.stubs.script import Reply, Turn, reply_to
from tests.support.loopback import LoopbackServer

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of the model's client, reduced to what a test asks about."""

    path: str
    listed: tuple[str, ...]
    called: str | None
    arguments: Json | None
    results: tuple[str, ...]
    said: str


class ModelStub:
    """A model endpoint that lives as long as its `with` block. Subclasses speak one provider's wire format."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._log.touch()
        self._writing = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, name=type(self).__name__, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def raw_log(self) -> str:
        """Everything that was sent to the model, verbatim."""
        return self._log.read_text(encoding="utf-8")

    @property
    def exchanges(self) -> list[Exchange]:
        """The requests so far, in the order in which they were answered."""
        entries = (json.loads(line)["exchange"] for line in self.raw_log.splitlines())
        return [Exchange(**{**e, "listed": tuple(e["listed"]), "results": tuple(e["results"])}) for e in entries]

    def read_turn(self, path: str, body: Json) -> Turn | None:
        """What a request tells the model; None when it is no conversation (a token count, a list of models)."""
        raise NotImplementedError

    def render(self, path: str, body: Json, reply: Reply) -> Json | Iterable[str]:
        """The answer's body: one JSON object, or server-sent events when the request asked to stream."""
        raise NotImplementedError

    def render_other(self, path: str) -> Json:
        """The answer to whatever is no conversation."""
        raise NotImplementedError

    def answer(self, path: str, body: Json) -> Json | Iterable[str]:
        """Answer one request and log it."""
        turn = self.read_turn(path, body)
        if turn is None:
            self._write(body, Exchange(path, (), None, None, (), ""))
            return self.render_other(path)
        reply = reply_to(turn)
        listed = tuple(tool.name for tool in turn.tools)
        called = reply.tool.name if reply.tool else None
        self._write(body, Exchange(path, listed, called, reply.arguments, tuple(turn.results), reply.text))
        return self.render(path, body, reply)

    def _write(self, body: Json, exchange: Exchange) -> None:
        line = json.dumps({"exchange": asdict(exchange), "body": body})
        with self._writing, self._log.open("a", encoding="utf-8") as log:
            log.write(line + "\n")


class _Server(LoopbackServer):
    def __init__(self, stub: ModelStub) -> None:
        super().__init__(_Handler)
        self.stub = stub


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._send(self.server.stub.answer(self._path, {}))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        self._send(self.server.stub.answer(self._path, json.loads(raw or b"{}")))

    do_HEAD = do_GET

    @property
    def _path(self) -> str:
        return self.path.partition("?")[0]

    def _send(self, answer: Json | Iterable[str]) -> None:
        is_json = isinstance(answer, Mapping)
        data = (json.dumps(answer) if is_json else "".join(answer)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json" if is_json else "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Nothing on stderr: the stub's own log is the record."""


def texts_of(content: object, kinds: frozenset[str]) -> list[str]:
    """The texts of a message's content, which is a string or a list of typed blocks."""
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else []
    return [block.get("text", "") for block in blocks if block.get("type") in kinds]


def event(payload: Json, name: str | None = None) -> str:
    """One server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(payload)}\n\n"
