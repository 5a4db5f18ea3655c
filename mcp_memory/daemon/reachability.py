"""Finds out why a daemon can't be reached from here, for example from an agent's sandbox, so that nobody waits for
it."""

import errno
import os
import socket

from mcp_memory.client.connection import Address
from mcp_memory.daemon.instance import find_stranger, holder
from mcp_memory.errors import Busy, NotRunning
from mcp_memory.settings.settings import Settings

PROBE_S = 1.0

_FORBIDDEN = frozenset({
    errno.EPERM, errno.EACCES, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH, errno.EAFNOSUPPORT,
})  # fmt: skip
"""The errors of a connection to loopback where a sandbox has removed the network."""


def find_barrier(settings: Settings) -> Busy | None:
    """Return the error for a daemon that runs, but in another container or network. Return None if it may still be
    starting, and if a command has the vault's lock."""
    pid = holder(settings.state)
    try:
        address = Address.read(settings.state.daemon)
    except NotRunning:
        return None
    if pid is None or pid != address.pid:
        return None
    if stranger := find_stranger(settings.state):
        return Busy(stranger.message, hint=stranger.hint)
    if address.uds or not (_is_in_other_network(pid) or _is_cut_off(address.host)):
        return None
    what = f"the daemon (pid {pid}) can't be reached from here, as in a sandbox that has no network"
    return Busy(what, hint=f"run this outside of it, or let it connect to {address.name}")


def require_startable(settings: Settings) -> None:
    """Raise StorageFailed if a daemon couldn't write here, Busy if nobody could connect to it."""
    settings.state.make()
    if not settings.daemon.uds and _is_cut_off(settings.daemon.host):
        what = "nothing could connect to a daemon here, as in a sandbox that has no network"
        raise Busy(what, hint="start it outside; while none runs, commands such as mcp-memory search work without it")


def _is_in_other_network(pid: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")  # noqa: PTH115 -- no path
    except OSError:  # not on macOS
        return False


def _is_cut_off(host: str) -> bool:
    """Return whether nothing here can connect to this machine itself. The daemon itself reports other errors."""
    try:
        with socket.create_server((host, 0)) as listening:
            socket.create_connection(listening.getsockname()[:2], timeout=PROBE_S).close()
    except OSError as error:
        return error.errno in _FORBIDDEN
    return False
