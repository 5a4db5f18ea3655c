"""Binds the socket before anything slow happens: a port that is chosen once and kept, or a private Unix socket. Also
tells the address to clients' configurations."""

import errno
import os
import socket
import sys
from pathlib import Path

from mcp_memory.client.connection import Address
from mcp_memory.errors import Busy, ConfigInvalid, NotRunning
from mcp_memory.runtime.paths import absolute
from mcp_memory.settings.settings import PREFERRED_PORT, DaemonConfig, Settings
from mcp_memory.settings.state import StateFolder

BACKLOG = 512

LOOPBACK_OF = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- not bound to, but mapped away
"""The address at which our own programs reach a daemon that listens everywhere."""

MAX_UDS_BYTES = 107 if sys.platform == "linux" else 103
"""The longest path of a Unix socket: `sun_path` has 108 bytes with the final NUL (man 7 unix), on macOS 104."""


def bind(config: DaemonConfig, state: StateFolder) -> socket.socket:
    """Return a listening socket. Raises as `bind_tcp` does, and ConfigInvalid for an unusable path of a Unix socket.

    Without a configured port this uses the vault's last port. A new vault gets the preferred port, or any free port.
    Configured ports are recorded, too, so that client configurations stay valid."""
    if config.uds:
        return _bind_uds(Path(absolute(config.uds)))
    if port := config.port or kept_port(state):
        listening = bind_tcp(config.host, port)
    else:
        try:
            listening = bind_tcp(config.host, PREFERRED_PORT)
        except Busy:
            listening = bind_tcp(config.host, 0)
    keep_port(state, listening.getsockname()[1])
    return listening


def kept_port(state: StateFolder) -> int | None:
    """Return the vault's port, or None if it never had a port."""
    try:
        text = state.port.read_text(encoding="ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return int(text) if text.isdecimal() and 0 < int(text) < 65536 else None


def known_url(settings: Settings) -> str | None:
    """Return the URL where clients reach this vault's daemon, even while it is down; None before its first start."""
    try:
        return Address.read(settings.state.daemon).url
    except NotRunning:
        port = settings.daemon.port or kept_port(settings.state)
        return _url(settings, port) if port else None


def expected_url(settings: Settings) -> str:
    """Return the URL of this vault's daemon, or the URL that it will try first."""
    return known_url(settings) or _url(settings, PREFERRED_PORT)


def keep_port(state: StateFolder, port: int) -> None:
    """Record the vault's port. Raises OSError."""
    state.port.touch(mode=0o600)
    state.port.write_text(f"{port}\n", encoding="ascii")


def bind_tcp(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises Busy if the port is taken, ConfigInvalid for an unusable address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only with a named protocol, which saves 40 ms an answer on a kept connection.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            with bind_tcp(host, 0) as free:
                other = free.getsockname()[1]
            what = f"port {port} on {host} is in use by another program"
            move = f"mcp-memory start --port {other}, then mcp-memory install CLIENT for each client"
            raise Busy(what, hint=f"end that program, or move: {move}") from error
        raise ConfigInvalid(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return listening


def _url(settings: Settings, port: int) -> str:
    host = LOOPBACK_OF.get(settings.daemon.host, settings.daemon.host)
    return Address(host, port, "", 0, "", "").url


def _bind_uds(path: Path) -> socket.socket:
    folder, length = path.parent, len(os.fsencode(path))
    if length > MAX_UDS_BYTES:
        hint = f"use one of at most {MAX_UDS_BYTES}: a shorter folder"
        raise ConfigInvalid(f"the Unix socket's path has {length} bytes", hint=hint)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        others_enter = folder.stat().st_mode & 0o077
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        hint = "name a path in a private folder of yours"
        raise ConfigInvalid(f"cannot use the folder {folder} for a Unix socket: {why}", hint=hint) from error
    if others_enter:
        raise ConfigInvalid(f"others can enter {folder}", hint="name a path in a private folder, such as ~/run")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # We have the instance lock, so a socket file here is a dead daemon's.
        if path.is_socket():
            path.unlink()
        listening.bind(str(path))
        path.chmod(0o600)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        what = f"cannot listen on {path}: {error.strerror or error}"
        raise ConfigInvalid(what, hint="name a path where no file is yet") from error
    return listening
