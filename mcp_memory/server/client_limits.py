"""Limits the share of the daemon that one client uses at once. Further requests wait for their turn or are refused.

Otherwise one runaway client could take all threads and connections. Your own commands are not limited; the last
connections are reserved for them and for hooks: see `daemon.connections`.
"""

import logging
from contextlib import nullcontext
from dataclasses import dataclass, field

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_memory.client.connection import HEALTH
from mcp_memory.client.credentials import PERSON, Credentials
from mcp_memory.errors import Busy, McpMemoryError
from mcp_memory.hooks.hook_command import ROUTE
from mcp_memory.server.http_guard import bearer_token, headers_of, refuse, swallow

AT_ONCE = 4
"""The number of requests of one client that run at once. Each further thread makes all others wait for Python's lock:
with 4 heavy appends instead of 8, another client's search takes 70 ms instead of 160 (two busy processors)."""

SWALLOWED_BYTES = 2_000_000
"""The number of bytes of a refused request that are still read: more than any append, so that its client reads the
reason."""

RESERVED = "reserved"
"""A key in a request's state: the request came on one of the reserved connections."""

LISTEN = b"subscriptions/listen"
"""A value of the header Mcp-Method, which the MCP library compares with the body."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Share:
    """The pending requests of one client."""

    requests: int = 0
    streams: int = 0
    turns: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(AT_ONCE))


class Shares:
    """The ASGI middleware that applies the limits. A client's hooks have a share of their own, which its agent can't
    use up."""

    def __init__(self, app: ASGIApp, credentials: Credentials, connections: int) -> None:
        """Limit a client to a quarter of these connections, and its streams to half of that."""
        self._app = app
        self._credentials = credentials
        self._most_requests = max(2, connections // 4)
        self._most_streams = self._most_requests // 2
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
        is_stream = headers.get(b"mcp-method") == [LISTEN]
        if share.requests >= self._most_requests or (is_stream and share.streams >= self._most_streams):
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
        share.streams += is_stream
        try:
            async with nullcontext() if is_stream else share.turns:  # a stream waits most of the time
                await self._app(scope, receive, send)
        finally:
            share.requests -= 1
            share.streams -= is_stream

    def _client_of(self, headers: dict[bytes, list[bytes]]) -> str:
        """Return the client's name; empty for a request without a valid token, which is refused later."""
        token = bearer_token(headers.get(b"authorization", [b""])[0].decode("latin-1"))
        try:
            return (token and self._credentials.client_of(token)) or ""
        except McpMemoryError:  # reported where the token is checked
            return ""
