"""A connection to a running daemon: found through `daemon.json`, verified, then asked."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, cast

from mcp_memory import errors
from mcp_memory.client.channel import Channel
from mcp_memory.client.credentials import Credentials
from mcp_memory.errors import DeadlineExceeded, InvalidInput, McpMemoryError, NotRunning

API = "/api/"
HEALTH = "/health"
MCP = "/mcp"
SERVICE = "mcp-memory"

PERSON = "cli"
"""The client name of what a person types, and of programs that act as the person: they may do what no agent may."""


class Address(NamedTuple):
    """Where a daemon listens, as it wrote into `daemon.json`. `uds` is a socket's path or empty.

    No dataclass: the import of that module would be a fifth of what `headers` takes.
    """

    host: str
    port: int
    uds: str
    pid: int
    version: str
    vault: str

    @property
    def url(self) -> str:
        """What an MCP client connects to; behind a Unix socket the host counts for nothing."""
        return f"http://{self.authority}{MCP}"

    @property
    def authority(self) -> str:
        """What a request's Host says."""
        if self.uds:
            return self.host
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

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
            json.dump(self._asdict(), out)
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

    def __init__(self, address: Address, credentials: Credentials, *, client: str = PERSON) -> None:
        self.address = address
        self._credentials = credentials
        self._client = client

    def verify(self, *, deadline_s: float = 2.0) -> None:
        """Make the daemon prove itself. Raises NotRunning when nobody, or somebody else, answers there."""
        proved(self.address, self._credentials, deadline_s=deadline_s).close()

    def call(self, operation: str, arguments: Mapping[str, Any], *, deadline_s: float = 60.0) -> dict[str, Any]:
        """The answer to one operation. Raises the daemon's own error, NotRunning or DeadlineExceeded."""
        with proved(self.address, self._credentials) as channel:
            headers = {
                "Authorization": f"Bearer {self._credentials.token(self._client)}",
                "Content-Type": "application/json",
            }
            body = json.dumps(dict(arguments)).encode()
            with _translated(deadline_s):
                status, said = channel.exchange("POST", API + operation, headers, body, monotonic() + deadline_s)
                answer = _object(said)
        if status == 200:
            return answer
        raise _error_of(status, answer)


def proved(address: Address, credentials: Credentials, *, deadline_s: float = 2.0) -> Channel:
    """A connection whose other end has proved itself to be this vault's daemon.

    Raises NotRunning when nobody, or somebody else, answers there, and DeadlineExceeded.
    """
    until, nonce = monotonic() + deadline_s, os.urandom(16).hex()
    with _translated(deadline_s):
        channel = Channel(address.uds or (address.host, address.port), address.authority, until)
        try:
            status, said = channel.exchange("GET", f"{HEALTH}?nonce={nonce}", {}, b"", until)
            if status == 200 and _object(said).get("proof") == credentials.proof(nonce, address.name):
                return channel
        except BaseException:
            channel.close()
            raise
    channel.close()
    raise NotRunning(f"what answers at {address.name} is not this vault's daemon", hint="mcp-memory start")


@contextmanager
def _translated(deadline_s: float) -> Generator[None]:
    """What goes wrong on a connection, in the user's words."""
    try:
        yield
    except TimeoutError as error:
        raise DeadlineExceeded(
            f"the daemon did not answer within {deadline_s:g} s", hint="mcp-memory status"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise NotRunning("no daemon answers for this vault", hint="mcp-memory start") from error


def _object(said: bytes) -> dict[str, Any]:
    """Raises ValueError and RecursionError for what is no JSON."""
    answer: object = json.loads(said)
    return cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}


def _error_of(status: int, answer: Mapping[str, Any]) -> McpMemoryError:
    code, message = str(answer.get("code", "")), str(answer.get("message", f"HTTP {status}"))
    hint = answer.get("hint")
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, McpMemoryError) and kind.code == code:
            return kind(message, hint=str(hint) if hint else None)
    return InvalidInput(message) if status < 500 else McpMemoryError(message)
