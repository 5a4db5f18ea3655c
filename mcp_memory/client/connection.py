"""Connects to a running daemon: finds it through `daemon.json`, verifies it, then calls it, and keeps idle
connections."""

from __future__ import annotations

import json
import os
import re
from time import monotonic

from mcp_memory import __version__, errors
from mcp_memory.client.credentials import PERSON, Credentials
from mcp_memory.client.http_connection import HttpConnection
from mcp_memory.errors import Busy, DeadlineExceeded, InvalidInput, McpMemoryError, NotRunning

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

API = "/api/"
HEALTH = "/health"
MCP = "/mcp"
SERVICE = "mcp-memory"


_STAGES = ("dev", "a", "b", "rc", "", "post")


def is_newer(version: str, *, than: str) -> bool:
    """Return whether a version is newer than another, in the order of PEP 440 as far as our releases use it. Return
    False if either isn't a version."""
    ours, theirs = _rank(version), _rank(than)
    return ours is not None and theirs is not None and ours > theirs


def _rank(version: str) -> tuple[list[int], int, int, float] | None:
    found = re.match(r"v?(\d+(?:\.\d+)*)(?:[.-]?(dev|a|b|rc|post)(\d+))?(?:\.dev(\d+))?", version, re.ASCII)
    if not found:
        return None
    release, stage, number, dev = found.groups()
    numbers = [int(part) for part in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers, _STAGES.index(stage or ""), int(number or 0), int(dev) if dev else float("inf")


class Address:
    """The address of a daemon, as written in `daemon.json`. `uds` is the path of a Unix socket, or empty.

    It isn't a dataclass or a named tuple, because importing either would take a fifth of the time of `headers`."""

    def __init__(self, host: str, port: int, uds: str, pid: int, version: str, vault: str) -> None:
        self.host = host
        self.port = port
        self.uds = uds
        self.pid = pid
        self.version = version
        self.vault = vault

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    @property
    def url(self) -> str:
        """The URL that an MCP client connects to. With a Unix socket, its host doesn't matter."""
        return f"http://{self.authority}{MCP}"

    @property
    def authority(self) -> str:
        """The value of a request's Host header."""
        if self.uds:
            return self.host
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def name(self) -> str:
        """The address that the daemon's proof covers: the socket's path, or host and port."""
        return self.uds or f"{self.host}:{self.port}"

    @property
    def place(self) -> str:
        """The address to show to people: the socket's path, or the URL."""
        return self.uds or self.url

    def write(self, file: Path) -> None:
        draft = file.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as out:
            json.dump(vars(self), out)
        draft.replace(file)

    @classmethod
    def read(cls, file: str | Path) -> Address:
        """Read an address. Raises NotRunning if no daemon has written its address."""
        try:
            with open(file, encoding="utf-8") as text:
                return cls(**json.load(text))
        except (OSError, ValueError, TypeError) as error:
            raise NotRunning("no daemon runs for this vault", hint="mcp-memory start") from error


class DaemonConnection:
    """A client of one daemon. Each call opens its own connection and has its own deadline."""

    def __init__(self, address: Address, credentials: Credentials, *, client: str = PERSON) -> None:
        self.address = address
        self._credentials = credentials
        self._client = client

    def verify(self, *, deadline_s: float = 2.0) -> None:
        """Check that the daemon is this vault's. Raises as `proved` does."""
        proved(self.address, self._credentials, deadline_s=deadline_s).close()

    def call(self, operation: str, arguments: Mapping[str, Any], *, deadline_s: float = 60.0) -> dict[str, Any]:
        """Return the answer to one operation. Raises the daemon's own error, NotRunning, Busy or DeadlineExceeded."""
        with proved(self.address, self._credentials) as channel:
            credentials = self._credentials
            token = credentials.persons_token() if self._client == PERSON else credentials.token(self._client)
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            body = json.dumps(dict(arguments)).encode()
            with TranslatedError(deadline_s):
                until = monotonic() + deadline_s
                status, _, content = channel.exchange("POST", API + operation, headers, body, until)
                answer = json_object(content)
        if status == 200:
            return answer
        raise error_of(status, answer)


def proved(address: Address, credentials: Credentials, *, deadline_s: float = 2.0) -> HttpConnection:
    """Return a connection to the daemon after it has proved to be this vault's.

    Raises NotRunning if nothing or another program answers there, Busy if all of the daemon's connections are in use,
    and DeadlineExceeded."""
    until, nonce = monotonic() + deadline_s, os.urandom(16).hex()
    with TranslatedError(deadline_s):
        channel = HttpConnection(address.uds or (address.host, address.port), address.authority, until)
        try:
            status, _, content = channel.exchange("GET", f"{HEALTH}?nonce={nonce}", {}, b"", until)
            if status == 200 and json_object(content).get("proof") == credentials.proof(nonce, address.name):
                return channel
        except BaseException:
            channel.close()
            raise
    channel.close()
    if status == 503:
        raise Busy("the daemon is busy: all of its connections are in use", hint="try again in some seconds")
    raise NotRunning(f"what answers at {address.name} is not this vault's daemon", hint="mcp-memory start")


class TranslatedError:
    """Turns connection failures within the block into NotRunning or DeadlineExceeded."""

    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, TimeoutError):
            raise DeadlineExceeded(
                f"the daemon did not answer within {self._deadline_s:g} s", hint="mcp-memory status"
            ) from error
        if isinstance(error, (OSError, ValueError, RecursionError)):
            raise NotRunning("no daemon answers for this vault", hint="mcp-memory start") from error


def json_object(content: bytes) -> dict[str, Any]:
    """Parse a JSON object; return an empty dict for any other JSON value. Raises ValueError and RecursionError for
    invalid JSON."""
    try:
        return {**json.loads(content)}
    except TypeError:  # a list, a number
        return {}


def error_of(status: int, answer: Mapping[str, Any]) -> McpMemoryError:
    """Return the error in the daemon's answer."""
    code, message = str(answer.get("code", "")), str(answer.get("message", f"HTTP {status}"))
    hint = str(answer.get("hint") or "") or None
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, McpMemoryError) and kind.code == code:
            return kind(message, hint=hint)
    return (InvalidInput if status < 500 else McpMemoryError)(message, hint=hint)


PROOF_S = 10.0
"""The time in which a daemon answers even on a busy machine; a daemon that takes longer hangs."""

MOST_IDLE = 4


class ConnectionPool:
    """A thread-safe pool. `file` has the daemon's address; `reach` starts a daemon unless an up-to-date daemon
    answers."""

    def __init__(self, file: Path, credentials: Credentials, reach: Callable[[], object]) -> None:
        import threading  # 2 ms, which a hook without a pool doesn't wait for

        self._file = file
        self._credentials = credentials
        self._reach = reach
        self._idle: list[HttpConnection] = []
        self._changing = threading.Lock()
        self._reaching = threading.Lock()

    def acquire(self) -> HttpConnection:
        """Return a connection for the caller's exclusive use, until it is given back or closed. Raises NotRunning,
        DeadlineExceeded and what `reach` raises."""
        with self._changing:
            while self._idle:
                channel = self._idle.pop()
                if not channel.has_ended:
                    return channel
                channel.close()
        try:
            return self._found()
        except NotRunning:
            with self._reaching:  # one thread starts a daemon, the others use it
                self._reach()
        return self._found()

    def _found(self) -> HttpConnection:
        """Return a new connection without starting a daemon. Raises NotRunning, also if the daemon must be replaced by
        a newer version."""
        address = Address.read(self._file)
        if is_newer(__version__, than=address.version):
            raise NotRunning(f"the daemon is of the older version {address.version}", hint="mcp-memory start")
        return proved(address, self._credentials, deadline_s=PROOF_S)

    def give_back(self, channel: HttpConnection) -> None:
        with self._changing:
            if len(self._idle) < MOST_IDLE:
                self._idle.append(channel)
                return
        channel.close()
