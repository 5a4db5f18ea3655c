"""Notifies clients of protocol 2026-07-28 when a resource that they subscribed to has changed, whoever changed it.

Older clients keep no connection for that; they learn of the change at the next hook.
"""

from collections.abc import Callable, Iterator, Sequence
from urllib.parse import quote

import anyio
import anyio.lowlevel
from fastmcp import FastMCP
from mcp.server.subscriptions import ListenHandler
from mcp.shared.subscriptions import ResourceUpdated, ServerEvent
from mcp_types import SubscriptionsListenRequestParams

from mcp_memory.engine.engine import Engine
from mcp_memory.errors import McpMemoryError
from mcp_memory.models import NotePath

NOTE, TREE, STATUS = "memory://note/", "memory://tree", "memory://status"

TOGETHER_S = 0.05
"""Changes within this time are sent together."""

MOST_NOTES = 1000
"""The most notes that are named at once. If more have changed, a subscriber to the tree is still notified."""


class Subscriptions:
    """The connection of the index with subscribers; the daemon calls `run` and `close`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._bus = _Bus()
        self._handler = ListenHandler(self._bus)
        self._paths: dict[NotePath, None] = {}
        self._changed = anyio.Event()
        engine.subscribe(self._note)

    def serve(self, server: FastMCP) -> None:
        """Answer `subscriptions/listen`."""
        lowlevel = server._mcp_server  # pyright: ignore[reportPrivateUsage] -- FastMCP has no name for it
        lowlevel.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, self._handler)

    async def run(self) -> None:
        """Send changes until cancelled."""
        while True:
            await self._changed.wait()
            await anyio.sleep(TOGETHER_S)
            paths, self._paths, self._changed = list(self._paths), {}, anyio.Event()
            for uri in dict.fromkeys(await self._uris(paths)):
                await self._bus.publish(ResourceUpdated(uri=uri))

    def close(self) -> None:
        """End all subscriptions, because an open connection would delay the daemon's end."""
        self._handler.close()

    def _note(self, paths: Sequence[NotePath]) -> None:
        if self._bus.is_heard and paths:
            self._paths |= dict.fromkeys(paths)
            self._changed.set()

    async def _uris(self, paths: Sequence[NotePath]) -> list[str]:
        try:
            ids = await self._engine.ids_at(paths[:MOST_NOTES])
        except McpMemoryError:
            ids = []  # subscribers by path are still notified
        return [*_notes(paths[:MOST_NOTES]), *_notes(ids), TREE, STATUS]


class _Bus:
    """A subscription bus that knows whether anyone listens, unlike the library's own. Without listeners, changes aren't
    looked up."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[ServerEvent], None]] = {}

    @property
    def is_heard(self) -> bool:
        return bool(self._listeners)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Add a listener, and return the function that removes it."""
        key = object()
        self._listeners[key] = listener

        def end() -> None:
            self._listeners.pop(key, None)

        return end

    async def publish(self, event: ServerEvent) -> None:
        for listener in list(self._listeners.values()):
            listener(event)
        await anyio.lowlevel.checkpoint()  # otherwise a burst would fill the listeners' queues before any is sent


def _notes(names: Sequence[str]) -> Iterator[str]:
    """Yield the URIs of notes, both plain and percent-encoded, since a client may use either."""
    for name in names:
        yield NOTE + name
        yield NOTE + quote(name, errors="surrogateescape")
