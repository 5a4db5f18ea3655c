"""`mcp-memory stdio`: the daemon for a client that speaks stdio alone. Standard library only: agents wait for it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import NoReturn

from mcp_memory.cli.clients.proxy_options import ProxyOptions, parse_options
from mcp_memory.client.connection_pool import ConnectionPool
from mcp_memory.client.stdio_proxy import StdioProxy
from mcp_memory.errors import McpMemoryError

USAGE = """Serve MCP on standard input and output, for clients that cannot speak HTTP: each message goes to the daemon.

The daemon must first prove that it is ours. Where none runs it is started with the first message, if it has ever served
this vault (mcp-memory start), and one of an older version is replaced; a restart is not noticed. What cannot be
answered is answered with an error that says what to do. Ends when its input does, or the program that started it.

example:  mcp-memory stdio --client my-editor

In the client's configuration:

  {"mcpServers": {"memory": {"command": "mcp-memory", "args": ["stdio", "--client", "NAME"]}}}"""

LAST_ANSWERS_S = 1.5
"""After the input has ended. Clients that close it wait about two seconds before they kill."""

LOOK_S = 1.0


def stdio(arguments: Sequence[str]) -> int:
    """Returns an exit code only where the options are wrong; else the process ends with its client, with 0."""
    options = parse_options("mcp-memory stdio", USAGE, arguments)
    try:
        caller = ProxyOptions(options)
    except McpMemoryError as error:
        print(f"mcp-memory: {error}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    bridge = StdioProxy(
        ConnectionPool(caller.state.daemon, caller.credentials, caller.reach), caller.headers, StdioOutput().write
    )
    for line in iter(sys.stdin.buffer.readline, b""):
        if line.strip():
            bridge.forward(line)
    bridge.finish(LAST_ANSWERS_S)
    return _end()


class StdioOutput:
    """Standard output, on which there is nothing but whole lines of the protocol."""

    def __init__(self) -> None:
        self._turn = threading.Lock()

    def write(self, line: bytes) -> None:
        """Ends the process where nobody reads it."""
        rest = memoryview(line + b"\n")
        with self._turn:
            while rest:
                try:
                    rest = rest[os.write(1, rest) :]
                except OSError:
                    _end()


def _end_with(parent: int) -> None:
    """A parent that is killed may leave our input open: its other children have it, too."""
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    _end()


def _end() -> NoReturn:
    """Threads may wait for the daemon; nobody waits for them any more."""
    os._exit(0)
