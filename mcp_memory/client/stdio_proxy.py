"""The bridge: a stdio client's JSON-RPC lines carried to the daemon over streamable HTTP, and back what it says.

The daemon holds no sessions (see `server.app`): a handshake leaves nothing behind but the revision that it came to, so
that a daemon that was started anew goes on where the last one ended. Nor does it ask a client anything: what comes
unasked belongs to a `subscriptions/listen`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from time import monotonic

from mcp_memory.client.connection import MCP
from mcp_memory.client.connection_pool import ConnectionPool
from mcp_memory.client.http_connection import Headers
from mcp_memory.client.messages import (
    CANCELLED,
    LISTEN,
    Id,
    UnreadableMessage,
    answer_from,
    failure,
    headers_of,
    negotiated_in,
    read,
)
from mcp_memory.client.pending_call import CallCancelled, PendingCall
from mcp_memory.client.subscription import Subscription
from mcp_memory.errors import DeadlineExceeded, McpMemoryError, NotRunning

CALL_S = 55.0
"""Of one call. Most clients give up after 60 s, and then nobody knows what to do next."""

MOST_CALLS = 64
"""At once; further lines wait."""

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class DaemonLost(NotRunning):
    """The daemon ended while it worked on a call."""


class OutputBroken(McpMemoryError):
    """A fault of ours."""

    code = "internal"


class StdioProxy:
    """`headers` are the client's own: token and project; `write` takes one line and must be thread-safe."""

    def __init__(
        self, channels: ConnectionPool, headers: Callable[[], Mapping[str, str]], write: Callable[[bytes], None]
    ) -> None:
        self._channels = channels
        self._headers = headers
        self._write = write
        self._negotiated: str | None = None
        self._under_way: dict[Id, PendingCall] = {}
        self._room = threading.Semaphore(MOST_CALLS)

    def forward(self, line: bytes) -> None:
        """Carry this line; its answer is written when it comes. Waits while too many calls are under way."""
        try:
            message = read(line)
        except UnreadableMessage as error:
            self._write(error.answer)
            return
        if message.method == CANCELLED:
            if message.cancels is not None and (call := self._under_way.get(message.cancels)):
                call.cancel()
            return
        call = PendingCall(message)
        if message.id is not None:
            self._under_way[message.id] = call
        if message.method != LISTEN:
            self._room.acquire()
        threading.Thread(target=self._carry, args=(call,), daemon=True).start()

    def finish(self, within_s: float) -> None:
        """Returns once all calls are answered, but for those that listen, or when the time is up."""
        until = monotonic() + within_s
        for call in list(self._under_way.values()):
            if call.message.method != LISTEN:
                call.over.wait(max(0.0, until - monotonic()))

    def _carry(self, call: PendingCall) -> None:
        try:
            answer = self._listened(call) if call.message.method == LISTEN else self._asked(call)
        except CallCancelled:
            answer = None
        except McpMemoryError as error:
            answer = failure(call.message, error)
        except Exception as error:  # the client must not wait for an answer that never comes
            answer = failure(call.message, OutputBroken(f"a bug of mcp-memory stdio: {type(error).__name__}"))
        if call.message.method != LISTEN:
            self._room.release()
        self._end(call, answer)

    def _end(self, call: PendingCall, answer: bytes | None) -> None:
        number = call.message.id
        if number is not None:
            if answer and not call.cancelled.is_set():
                self._write(answer)
            if self._under_way.get(number) is call:  # its client may use the number again
                del self._under_way[number]
        call.over.set()

    def _asked(self, call: PendingCall) -> bytes:
        """The daemon's answer, asked for once more where it ended meanwhile and that cannot do harm."""
        try:
            return self._once(call)
        except DaemonLost:
            if not call.message.is_safe_to_repeat:
                raise
        return self._once(call)

    def _once(self, call: PendingCall) -> bytes:
        message, channel = call.message, self._channels.acquire()
        until = monotonic() + CALL_S
        try:
            with call.on(channel):
                status, body = channel.exchange("POST", MCP, self._headers_of(call), message.line, until)
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"the memory daemon did not answer within {CALL_S:g} s", hint="mcp-memory status says what it does"
            ) from error
        except (OSError, ValueError) as error:
            raise DaemonLost(
                "the memory daemon ended while it worked on this",
                hint="call again with the same arguments: what is stored already is not stored twice, but for a log "
                "entry of an earlier minute",
            ) from error
        self._channels.give_back(channel)
        answer = answer_from(message, status, body)
        if message.method == "initialize" and status == 200:
            self._negotiated = negotiated_in(answer)
        return answer

    def _listened(self, call: PendingCall) -> bytes:
        return Subscription(call, self._channels, self._headers_of, self._write).run()

    def _headers_of(self, call: PendingCall) -> Headers:
        return {**JSON, **self._headers(), **headers_of(call.message, self._negotiated)}
