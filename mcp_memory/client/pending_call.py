"""A message on its way to the daemon; its client may take it back meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from mcp_memory.client.http_connection import HttpConnection
from mcp_memory.client.messages import RpcMessage


class CallCancelled(Exception):
    """The client has cancelled the request."""


class PendingCall:
    """Carried by one thread, cancelled by another."""

    def __init__(self, message: RpcMessage) -> None:
        self.message = message
        self.cancelled = threading.Event()
        self.over = threading.Event()
        self._channel: HttpConnection | None = None
        self._changing = threading.Lock()

    def cancel(self) -> None:
        """Its connection is closed: that tells the daemon, too."""
        with self._changing:
            self.cancelled.set()
            if self._channel:
                self._channel.hang_up()

    @contextmanager
    def on(self, channel: HttpConnection) -> Generator[None]:
        """While the call waits on this channel, which is closed if anything goes wrong. Raises TakenBack."""
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
