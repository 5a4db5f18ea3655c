"""Limits how many connections there are at once, and how long each may keep the daemon waiting.

By itself, uvicorn keeps any number of half-sent requests, slow bodies and unread answers forever.
"""

import asyncio
import errno
import logging
import resource
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.flow_control import CLOSE_HEADER, FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcp_memory.server.http_guard import RESERVED

log = logging.getLogger(__name__)

RESERVE = 16
"""The number of connections that are reserved for your own programs, at most a quarter of all."""

EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

RETRIED_ACCEPT = "._start_serving"
"""The asyncio callback that runs a second after each connection that it couldn't accept, up to 2,048 times. Each call
fails if the daemon has closed its socket meanwhile."""

DESCRIPTOR_RESERVE = 256
"""The file descriptors for everything else: index, log, watcher, and the files of running calls."""

TURNS = 4
"""The turns of the event loop from accepting a connection to closing the connection that had to make room for it."""

EVENTS_ONLY = (b"accept", b"text/event-stream")
"""The header of a browser that asks for a stream of events. MCP clients also accept JSON."""

TURNED_AWAY = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\nretry-after: 1\r\n\r\n"


def connections_that_fit(wanted: int, *, accepted_at_once: int) -> int:
    """Return how many connections fit, at most `wanted`, and raise this process's soft limit of files as needed.
    `accepted_at_once` is the number accepted in one turn of the event loop."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    besides = TURNS * accepted_at_once + DESCRIPTOR_RESERVE
    needed = wanted + besides
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return min(wanted, max(limit - besides, limit // 4))


class ConnectionLimits:
    """All connections of one daemon. `waiting` contains the connections whose client has to act, the longest wait
    first."""

    def __init__(self, *, most: int, patience_s: float) -> None:
        """Set the limits. `patience_s` is how long a client may take to send a whole request, and to read its
        answer."""
        self.most = most
        self.for_all = most - min(RESERVE, most // 4)
        self.patience_s = patience_s
        self.draining = False
        self.waiting: dict[LimitedConnection, None] = {}

    def complain(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an exception of the event loop, whose own handler logs a traceback for each connection that it can't
        accept. The text after a bracket in a message is cut off, because arguments may quote a note."""
        error, message = context.get("exception"), context["message"].partition("(")[0]
        if isinstance(error, OSError) and error.errno in EXHAUSTED:
            log.warning("no file descriptor or memory is left for a new connection: it waits")
        elif not (isinstance(error, ValueError) and message.endswith(RETRIED_ACCEPT)):
            log.error("%s", message, exc_info=error)

    def protocol(self) -> type[asyncio.Protocol]:
        """Return the class for `uvicorn.Config(http=…)`, which makes one object for each connection."""
        return type("LimitedConnection", (LimitedConnection,), {"shared": self})


class WatchedFlow(FlowControl):
    """Reports when reading of a body resumes. uvicorn reads the beginning of a body before the request has its turn."""

    def __init__(self, transport: asyncio.Transport, resumed: Callable[[], None]) -> None:
        super().__init__(transport)
        self._resumed = resumed

    def resume_reading(self) -> None:
        was_paused = self.read_paused
        super().resume_reading()
        if was_paused:
            self._resumed()


class LimitedConnection(H11Protocol):
    """A connection that checks after each event whose turn it is. A client's turn has a time limit. Between two
    requests uvicorn's keep-alive time applies."""

    shared: ConnectionLimits
    _patience: asyncio.TimerHandle | None = None
    _answered = False
    """Whether the connection has had an answer, and may now be idle."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] -- uvicorn names it so
        super().connection_made(transport)
        self.flow = WatchedFlow(transport, self._look)
        transport.set_write_buffer_limits(high=0)  # so that pause_writing reports the first unread byte
        if self.shared.draining:
            transport.abort()
        elif len(self.connections) <= self.shared.most or self._make_room():
            self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self.shared.waiting.pop(self, None)
        if self._patience:
            self._patience.cancel()

    def data_received(self, data: bytes) -> None:
        at_work = len(self.connections) - len(self.shared.waiting) + (self in self.shared.waiting)
        self.app_state = {**self.app_state, RESERVED: at_work > self.shared.for_all}
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._answered = True
        self.shared.waiting.pop(self, None)  # its turn starts again
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def send_400_response(self, msg: str) -> None:
        """Send status 400, or abort. uvicorn's own method fails with a traceback if the request was answered before its
        body came."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def shutdown(self) -> None:
        """End the connection. A complete request is still answered, with a header that closes the connection, unless
        the answer is a browser's stream of events, which has no end."""
        if self._arriving() or self._is_event_stream():
            self.transport.abort()
            return
        super().shutdown()
        if self.cycle and not self.cycle.response_started:
            self.cycle.default_headers = [*self.cycle.default_headers, CLOSE_HEADER]

    def _look(self) -> None:
        """Start or end the client's turn, and its time limit."""
        arriving, unread = self._arriving(), self.flow.write_paused
        owes = unread or (arriving and not self.flow.read_paused)  # paused: the rest waits for us
        idle = self.conn.their_state is h11.IDLE and not (arriving or unread)
        if owes and not self._patience:
            self.shared.waiting.pop(self, None)
            self._patience = self.loop.call_later(self.shared.patience_s, self._cut)
        elif not owes and self._patience:
            self._patience.cancel()
            self._patience = None
        if owes or idle:
            self.shared.waiting.setdefault(self)
        else:
            self.shared.waiting.pop(self, None)
        # uvicorn starts this with an answer and ends it with the next byte, which may belong to the same request.
        if idle and not self.timeout_keep_alive_task and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _arriving(self) -> bool:
        """Return whether a request is due or has begun, and isn't complete."""
        if self.conn.their_state is h11.IDLE:
            return not self._answered or bool(self.conn.trailing_data[0])
        return self.conn.their_state is h11.SEND_BODY

    def _is_event_stream(self) -> bool:
        return bool(self.cycle) and EVENTS_ONLY in self.cycle.scope["headers"] and not self.cycle.response_complete

    def _cut(self) -> None:
        log.warning("a request or answer was cut off after %g s", self.shared.patience_s)
        self.transport.abort()

    def _make_room(self) -> bool:
        """Return whether this connection may stay. If any client keeps us waiting, close the connection with the
        longest wait instead."""
        if longest := next(iter(self.shared.waiting), None):
            del self.shared.waiting[longest]
            longest.transport.abort()
            log.warning("more than %d connections: the longest idle one was closed", self.shared.most)
            return True
        self.transport.write(TURNED_AWAY)
        self.transport.close()
        log.warning("%d connections are all being worked on: a new one was turned away", self.shared.most)
        return False
