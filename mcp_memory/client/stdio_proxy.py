"""Forwards a stdio client's JSON-RPC lines to the daemon over streamable HTTP, and writes the daemon's answers back.

The daemon keeps no sessions (see `server.app`). Only the protocol version outlasts a handshake, so a restarted daemon
continues where the last daemon ended. The daemon asks a client nothing, and sends nothing unasked.
"""

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from time import monotonic

from mcp_memory.client.connection import MCP, ConnectionPool
from mcp_memory.client.http_connection import HttpConnection
from mcp_memory.client.messages import (
    CANCELLED,
    Id,
    RpcMessage,
    UnreadableMessage,
    answer_from,
    failure,
    headers_of,
    negotiated_in,
    read,
)
from mcp_memory.errors import DeadlineExceeded, McpMemoryError, NotRunning

CALL_S = 55.0
"""The time limit of one call. Most clients give up after 60 s with an error that doesn't help."""

MOST_CALLS = 64
"""The most calls at once; further lines wait."""

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class DaemonLost(NotRunning):
    """The daemon ended while it worked on a call."""


class OutputBroken(McpMemoryError):
    """A bug of ours."""

    code = "internal"


class CallCancelled(Exception):
    """The client has cancelled the request."""


class PendingCall:
    """A message on its way to the daemon. One thread forwards it, another may cancel it."""

    def __init__(self, message: RpcMessage) -> None:
        self.message = message
        self.cancelled = threading.Event()
        self.over = threading.Event()
        self._channel: HttpConnection | None = None
        self._changing = threading.Lock()

    def cancel(self) -> None:
        """Close the call's connection, which also cancels it at the daemon."""
        with self._changing:
            self.cancelled.set()
            if self._channel:
                self._channel.hang_up()

    @contextmanager
    def on(self, channel: HttpConnection) -> Generator[None]:
        """Mark the call as waiting on this channel within the block; close the channel if anything fails. Raises
        CallCancelled."""
        try:
            self._hold(channel)
            yield
            self._hold(None)
        except BaseException as error:
            self._channel = None
            channel.close()
            if self.cancelled.is_set():
                raise CallCancelled from error
            raise

    def _hold(self, channel: HttpConnection | None) -> None:
        with self._changing:
            if self.cancelled.is_set():
                raise CallCancelled
            self._channel = channel


class StdioProxy:
    """The proxy of one client. `headers` are the client's own: token and project. `write` takes one line and must be
    thread-safe."""

    def __init__(
        self, channels: ConnectionPool, headers: Callable[[], Mapping[str, str]], write: Callable[[bytes], None]
    ) -> None:
        self._channels = channels
        self._headers = headers
        self._write = write
        self._negotiated: str | None = None
        self._pending: dict[Id, PendingCall] = {}
        self._room = threading.Semaphore(MOST_CALLS)

    def forward(self, line: bytes) -> None:
        """Forward this line, and write its answer when it comes. Waits while too many calls are pending."""
        try:
            message = read(line)
        except UnreadableMessage as error:
            self._write(error.answer)
            return
        if message.method == CANCELLED:
            if message.cancels is not None and (call := self._pending.get(message.cancels)):
                call.cancel()
            return
        call = PendingCall(message)
        if message.id is not None:
            self._pending[message.id] = call
        self._room.acquire()
        threading.Thread(target=self._answer, args=(call,), daemon=True).start()

    def finish(self, within_s: float) -> None:
        """Wait until all calls are answered, for at most `within_s`."""
        until = monotonic() + within_s
        for call in list(self._pending.values()):
            call.over.wait(max(0.0, until - monotonic()))

    def _answer(self, call: PendingCall) -> None:
        try:
            answer = self._ask(call)
        except CallCancelled:
            answer = None
        except McpMemoryError as error:
            answer = failure(call.message, error)
        except Exception as error:  # otherwise the client would wait for ever
            answer = failure(call.message, OutputBroken(f"a bug of mcp-memory stdio: {type(error).__name__}"))
        self._room.release()
        number = call.message.id
        if number is not None:
            if answer and not call.cancelled.is_set():
                self._write(answer)
            if self._pending.get(number) is call:  # its client may use the number again
                del self._pending[number]
        call.over.set()

    def _ask(self, call: PendingCall) -> bytes:
        """Return the daemon's answer. If the daemon ended meanwhile, ask again where repeating is safe."""
        try:
            return self._ask_once(call)
        except DaemonLost:
            if not call.message.is_safe_to_repeat:
                raise
        return self._ask_once(call)

    def _ask_once(self, call: PendingCall) -> bytes:
        message, channel = call.message, self._channels.acquire()
        until = monotonic() + CALL_S
        try:
            with call.on(channel):
                headers = {**JSON, **self._headers(), **headers_of(message, self._negotiated)}
                status, _, body = channel.exchange("POST", MCP, headers, message.line, until)
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"the memory daemon did not answer within {CALL_S:g} s", hint="mcp-memory status says what it does"
            ) from error
        except (OSError, ValueError) as error:
            raise DaemonLost(
                "the memory daemon ended while it worked on this",
                hint="call again with the same arguments: what is stored already is not stored twice, except a log "
                "entry of an earlier minute",
            ) from error
        self._channels.give_back(channel)
        answer = answer_from(message, status, body)
        if message.method == "initialize" and status == 200:
            self._negotiated = negotiated_in(answer)
        return answer
