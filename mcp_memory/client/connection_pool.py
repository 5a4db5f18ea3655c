"""Keeps verified connections to the vault's daemon, and reuses idle connections."""

import threading
from collections.abc import Callable
from pathlib import Path

from mcp_memory import __version__
from mcp_memory.client.connection import Address, is_newer, proved
from mcp_memory.client.credentials import Credentials
from mcp_memory.client.http_connection import HttpConnection
from mcp_memory.errors import NotRunning

PROOF_S = 10.0
"""The time in which a daemon answers even on a busy machine; a daemon that takes longer hangs."""

MOST_IDLE = 4


class ConnectionPool:
    """A thread-safe pool. `file` has the daemon's address; `reach` starts a daemon unless an up-to-date daemon
    answers."""

    def __init__(self, file: Path, credentials: Credentials, reach: Callable[[], object]) -> None:
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
            return self.found()
        except NotRunning:
            with self._reaching:  # one thread starts a daemon, the others use it
                self._reach()
        return self.found()

    def found(self) -> HttpConnection:
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
