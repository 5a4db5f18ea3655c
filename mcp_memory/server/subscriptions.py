"""Live: clients of 2026-07-28 that listen hear which of the resources that they name has changed, whoever changed it.

Clients of the handshake era hold no connection on which they could hear of it; they learn at the next hook.
"""

from __future__ import annotations

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
"""What changes within this time is told at once."""

MOST_NOTES = 1000
"""Of one telling by name; where more have changed at once, a listener to the tree still hears of it."""


class Subscriptions:
    """Between the index and those who listen; `run` and `close` are the daemon's."""

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
        """Tell what changes, until cancelled."""
        while True:
            await self._changed.wait()
            await anyio.sleep(TOGETHER_S)
            paths, self._paths, self._changed = list(self._paths), {}, anyio.Event()
            for uri in dict.fromkeys(await self._uris(paths)):
                await self._bus.publish(ResourceUpdated(uri=uri))

    def close(self) -> None:
        """Tell all who listen that it is over; a connection that is held open would hold up the daemon's end."""
        self._handler.close()

    def _note(self, paths: Sequence[NotePath]) -> None:
        if self._bus.is_heard and paths:
            self._paths |= dict.fromkeys(paths)
            self._changed.set()

    async def _uris(self, paths: Sequence[NotePath]) -> list[str]:
        try:
            ids = await self._engine.ids_at(paths[:MOST_NOTES])
        except McpMemoryError:
            ids = []  # who named them by path hears of it all the same
        return [*_notes(paths[:MOST_NOTES]), *_notes(ids), TREE, STATUS]


class _Bus:
    """The library's own does not tell whether anybody listens: looking up what changed is for nobody else."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[ServerEvent], None]] = {}

    @property
    def is_heard(self) -> bool:
        return bool(self._listeners)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Returns what ends it."""
        key = object()
        self._listeners[key] = listener
        return lambda: _ignored(self._listeners.pop(key, None))

    async def publish(self, event: ServerEvent) -> None:
        for listener in list(self._listeners.values()):
            listener(event)
        await anyio.lowlevel.checkpoint()  # else a burst would fill the listeners' queues before any is sent


def _ignored(_: object) -> None:
    return None


def _notes(names: Sequence[str]) -> Iterator[str]:
    """A client may name a note with what a URI cannot hold spelled out, or as it is."""
    for name in names:
        yield NOTE + name
        yield NOTE + quote(name, errors="surrogateescape")
