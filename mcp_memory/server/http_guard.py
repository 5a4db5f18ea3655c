"""Checks Host, Origin and size of every request before anything reads its body, and limits the share of the daemon
that one client uses at once.

A web page can make a browser talk to a loopback port (DNS rebinding), but its Host or Origin shows that. Without the
limits, one runaway client could take all threads and connections. Your own commands are not limited; the last
connections are reserved for them and for hooks: see `daemon.connections`.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_memory.client.connection import HEALTH
from mcp_memory.client.credentials import PERSON, Credentials
from mcp_memory.errors import Busy, InvalidInput, McpMemoryError
from mcp_memory.hooks.hook_command import ROUTE
from mcp_memory.server.sites import site_of

AT_ONCE = 4
"""The number of requests of one client that run at once. Each further thread makes all others wait for Python's lock:
with 4 heavy appends instead of 8, another client's search takes 70 ms instead of 160 (two busy processors)."""

SWALLOWED_BYTES = 2_000_000
"""The number of bytes of a refused request that are still read: more than any append, so that its client reads the
reason."""

RESERVED = "reserved"
"""A key in a request's state: the request came on one of the reserved connections."""

log = logging.getLogger(__name__)


@dataclass
class _Share:
    """The pending requests of one client."""

    requests: int = 0
    turns: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(AT_ONCE))


class Shares:
    """The ASGI middleware that applies the limits. A client's hooks have a share of their own, which its agent can't
    use up."""

    def __init__(self, app: ASGIApp, credentials: Credentials, connections: int) -> None:
        """Limit a client to a quarter of these connections."""
        self._app = app
        self._credentials = credentials
        self._most_requests = max(2, connections // 4)
        self._shares: dict[tuple[str, bool], _Share] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == HEALTH:
            await self._app(scope, receive, send)
            return
        headers = headers_of(scope)
        client, is_hook = self._client_of(headers), scope["path"].startswith(ROUTE)
        if client == PERSON:
            await self._app(scope, receive, send)
            return
        if scope.get("state", {}).get(RESERVED) and not (client and is_hook):
            await refuse(send, 503, "the daemon is busy: all connections are in use; try again", Busy.code)
            return
        share = self._shares.setdefault((client, is_hook), _Share())
        if share.requests >= self._most_requests:
            log.warning("%s has %d pending requests: one more was refused", client or "nobody", share.requests)
            await swallow(receive, SWALLOWED_BYTES)
            await refuse(
                send,
                429,
                "too many concurrent requests from this client: wait for some to finish, then try again",
                Busy.code,
            )
            return
        share.requests += 1
        try:
            async with share.turns:
                await self._app(scope, receive, send)
        finally:
            share.requests -= 1

    def _client_of(self, headers: dict[bytes, list[bytes]]) -> str:
        """Return the client's name; empty for a request without a valid token, which is refused later."""
        token = bearer_token(headers.get(b"authorization", [b""])[0].decode("latin-1"))
        try:
            return (token and self._credentials.client_of(token)) or ""
        except McpMemoryError:  # reported where the token is checked
            return ""


UNAUTHORIZED = "the token is missing, unknown or was revoked"
UNAUTHORIZED_HINT = "run mcp-memory clients on this machine; for a token: mcp-memory clients token --client NAME"

SWALLOWED = 4
"""A factor of the largest body: up to that size, a refused request is still read, so that its client gets the
answer."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 -- compared, not bound to


@dataclass(frozen=True)
class HttpGuardConfig:
    """The allowed hosts and origins, which are compared exactly. A request without Origin doesn't come from a
    browser. `sites`: paths at and below which the origin may also be the host that was asked, so a page of ours."""

    hosts: frozenset[str]
    origins: frozenset[str]
    max_body_bytes: int
    sites: frozenset[str] = frozenset()

    @classmethod
    def for_port(
        cls, port: int, *, host: str, hosts: Sequence[str], origins: Sequence[str], max_body_bytes: int
    ) -> Self:
        """Return the configuration for a port (0: a Unix socket): loopback names and `host` with this port, and the
        configured names."""
        names = LOOPBACK if host in EVERYWHERE else (*LOOPBACK, f"[{host}]" if ":" in host else host)
        own = {f"{name}:{port}".lower() for name in names} if port else set(LOOPBACK)
        return cls(
            frozenset(own | {host.lower() for host in hosts}),
            frozenset(origin.lower() for origin in origins),
            max_body_bytes,
        )


@dataclass(frozen=True)
class HttpGuard:
    """The outermost ASGI middleware."""

    app: ASGIApp
    config: HttpGuardConfig

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope, headers_of(scope))
        if refusal:
            await swallow(receive, SWALLOWED * self.config.max_body_bytes)
            await refuse(send, *refusal)
            return
        request = _Capped(receive, send, self.config.max_body_bytes)
        await self.app(scope, request.receive, request.send)
        if request.too_large and not request.answered:
            await refuse(send, *self._too_large())

    def _refusal(self, scope: Scope, headers: dict[bytes, list[bytes]]) -> tuple[int, str] | None:
        hosts, origins = headers.get(b"host", []), headers.get(b"origin", [])
        if len(hosts) != 1 or hosts[0].decode("latin-1").lower() not in self.config.hosts:
            return 421, "this Host is not allowed; see daemon.allowed_hosts"
        allowed = self.config.origins
        if site_of(scope, self.config.sites):
            allowed |= {f"http://{hosts[0].decode('latin-1').lower()}"}
        if any(origin.decode("latin-1").lower() not in allowed for origin in origins):
            return 403, "this Origin is not allowed; see daemon.allowed_origins"
        length = headers.get(b"content-length", [b"0"])[0]
        if not length.isdigit() or int(length) > self.config.max_body_bytes:
            return self._too_large()
        return None

    def _too_large(self) -> tuple[int, str]:
        return 413, f"the request is larger than {self.config.max_body_bytes:,} bytes"


class _Capped:
    """A request whose body is counted as it arrives, since a chunked request has no length.

    If the body is too large, the app sees its client hang up, and its response is dropped. FastMCP's body of a 401 is
    also replaced, because it mentions a sign-in that we don't have."""

    def __init__(self, receive: Receive, send: Send, max_bytes: int) -> None:
        self._receive = receive
        self._send = send
        self._left = max_bytes
        self.too_large = False
        self.answered = False
        self._refused = False

    async def receive(self) -> Message:
        if self.too_large:
            return {"type": "http.disconnect"}
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self.too_large = self._left < 0
        return {"type": "http.disconnect"} if self.too_large else message

    async def send(self, message: Message) -> None:
        if self._refused or (self.too_large and not self.answered):
            return
        self.answered = True
        if message["type"] == "http.response.start" and message["status"] == 401:
            self._refused = True
            refusal = (401, UNAUTHORIZED, "unauthorized", (b"www-authenticate", b"Bearer"))
            await refuse(self._send, *refusal, hint=UNAUTHORIZED_HINT, close=False)
        else:
            await self._send(message)


async def swallow(receive: Receive, max_bytes: int) -> None:
    """Read and drop the body. Otherwise a client that is still sending would see a reset connection instead of our
    answer."""
    more = True
    while more and max_bytes > 0:
        message = await receive()
        max_bytes -= len(message.get("body", b""))
        more = message.get("more_body", False)


def headers_of(scope: Scope) -> dict[bytes, list[bytes]]:
    """Return the headers by name, in lower case."""
    found: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        found.setdefault(bytes(name).lower(), []).append(bytes(value))
    return found


def bearer_token(header: str) -> str:
    """Return the token in an Authorization header; empty if the header has none."""
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def refuse(
    send: Send,
    status: int,
    message: str,
    code: str = InvalidInput.code,
    *headers: tuple[bytes, bytes],
    hint: str | None = None,
    close: bool = True,
) -> None:
    """Answer in place of the app, and by default close the connection."""
    body = json.dumps({"code": code, "message": message, "hint": hint}).encode()
    all_headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    all_headers += [(b"connection", b"close")] if close else []
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})
