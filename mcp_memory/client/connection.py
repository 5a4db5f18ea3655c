"""A connection to a running daemon: found through `daemon.json`, verified, then asked."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import secrets
import socket
import threading
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from mcp_memory import errors
from mcp_memory.client.credentials import Credentials
from mcp_memory.errors import DeadlineExceeded, InvalidInput, McpMemoryError, NotRunning

API = "/api/"
HEALTH = "/health"
SERVICE = "mcp-memory"

MAX_ANSWER_BYTES = 64_000_000
"""More than any answer of ours: whatever sends more is not our daemon."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a daemon listens, as it wrote into `daemon.json`. `uds` is a socket's path or empty."""

    host: str
    port: int
    uds: str
    pid: int
    version: str
    vault: str

    @property
    def url(self) -> str:
        """What an MCP client connects to; behind a Unix socket the host counts for nothing."""
        if self.uds:
            return f"http://{self.host}/mcp"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/mcp"

    @property
    def name(self) -> str:
        """What the daemon's proof is about."""
        return self.uds or f"{self.host}:{self.port}"

    @property
    def place(self) -> str:
        """For people: the socket's path, or the URL."""
        return self.uds or self.url

    def write(self, file: Path) -> None:
        draft = file.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as out:
            json.dump(asdict(self), out)
        draft.replace(file)

    @classmethod
    def read(cls, file: Path) -> Address:
        """Raises NotRunning where no daemon has written its address."""
        try:
            return cls(**json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise NotRunning("no daemon runs for this vault", hint="mcp-memory start") from error


class Connection:
    """One daemon. Each call opens a connection of its own and has one deadline for all of it."""

    def __init__(self, address: Address, credentials: Credentials, *, client: str = "cli") -> None:
        self.address = address
        self._credentials = credentials
        self._client = client

    def verify(self, *, deadline_s: float = 2.0) -> None:
        """Make the daemon prove itself. Raises NotRunning when nobody, or somebody else, answers there."""
        nonce = secrets.token_hex(16)
        status, body = self._request("GET", f"{HEALTH}?nonce={nonce}", {}, None, deadline_s)
        proof = body.get("proof") if status == 200 else None
        if proof != self._credentials.proof(nonce, self.address.name):
            raise NotRunning(f"what answers at {self.address.name} is not this vault's daemon", hint="mcp-memory start")

    def call(self, operation: str, arguments: Mapping[str, Any], *, deadline_s: float = 60.0) -> dict[str, Any]:
        """The answer to one operation. Raises the daemon's own error, NotRunning or DeadlineExceeded."""
        self.verify()
        headers = {
            "Authorization": f"Bearer {self._credentials.token(self._client)}",
            "Content-Type": "application/json",
        }
        body = json.dumps(dict(arguments)).encode()
        status, answer = self._request("POST", API + operation, headers, body, deadline_s)
        if status == http.client.OK:
            return answer
        raise _error_of(status, answer)

    def _request(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, deadline_s: float
    ) -> tuple[int, dict[str, Any]]:
        connection = self._open(deadline_s)
        with contextlib.closing(connection), _hanging_up(connection, deadline_s) as late:
            try:
                with contextlib.suppress(BrokenPipeError):  # refused before all was sent: the answer says why
                    connection.request(method, target, body, dict(headers))
                response = connection.getresponse()
                answer: Any = json.loads(response.read(MAX_ANSWER_BYTES))
                return response.status, cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
            except (OSError, http.client.HTTPException, ValueError) as error:
                if late.is_set() or isinstance(error, TimeoutError):
                    raise DeadlineExceeded(
                        f"the daemon did not answer within {deadline_s:g} s", hint="mcp-memory status"
                    ) from error
                raise NotRunning("no daemon answers for this vault", hint="mcp-memory start") from error

    def _open(self, deadline_s: float) -> http.client.HTTPConnection:
        if not self.address.uds:
            return http.client.HTTPConnection(self.address.host, self.address.port, timeout=deadline_s)
        connection = http.client.HTTPConnection("localhost", timeout=deadline_s)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(deadline_s)
        try:
            connection.sock.connect(self.address.uds)
        except OSError as error:
            connection.close()
            raise NotRunning("no daemon answers for this vault", hint="mcp-memory start") from error
        return connection


@contextlib.contextmanager
def _hanging_up(connection: http.client.HTTPConnection, deadline_s: float) -> Generator[threading.Event]:
    """A socket's timeout starts anew with each byte; this ends the whole exchange. The event says that it did."""
    late = threading.Event()

    def hang_up() -> None:
        late.set()
        with contextlib.suppress(OSError):
            if connection.sock:
                connection.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(deadline_s, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


def _error_of(status: int, answer: Mapping[str, Any]) -> McpMemoryError:
    code, message = str(answer.get("code", "")), str(answer.get("message", f"HTTP {status}"))
    hint = answer.get("hint")
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, McpMemoryError) and kind.code == code:
            return kind(message, hint=str(hint) if hint else None)
    return InvalidInput(message) if status < 500 else McpMemoryError(message)
