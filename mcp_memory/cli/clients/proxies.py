"""The commands that clients run to reach the daemon: `headers` prints HTTP headers, `stdio` passes messages on.

They use only the standard library, and nothing that is slow to import, because agents wait for them.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from mcp_memory import __version__
from mcp_memory.client.connection import Address, DaemonConnection, is_newer
from mcp_memory.client.credentials import Credentials
from mcp_memory.errors import Busy, InvalidInput, McpMemoryError, NotRunning
from mcp_memory.runtime.paths import DEFAULT_VAULT, vault_folder
from mcp_memory.settings.raw_settings import read_raw_settings
from mcp_memory.settings.state import StateFolder, was_served

if TYPE_CHECKING:
    import threading

IN_PROJECT = frozenset({"codex", "gemini", "opencode"})
"""The clients that run these commands in the session's folder. Codex 0.169.0 runs `headers`, anew for each session.
Gemini CLI 0.61.0 and opencode 1.18.33 run `stdio`. An editor with several windows may have been started anywhere."""

HEADERS_USAGE = """Print one client's HTTP headers as a JSON object: the bearer token, and with --project the project.
For Codex, Gemini CLI and opencode, unless you name one, the folder that they run in, whose project the daemon finds.

The running daemon must first prove that it is ours, so that no other program on its port gets the token. If none runs,
one is started, provided that one has served this vault before; an older version is replaced. Otherwise this prints {}
and exits with 3. Meant for a client's `headersHelper` or `http_headers_helper`.

example:  mcp-memory headers --client claude-code"""

STDIO_USAGE = """Serve MCP on standard input and output, for clients that don't speak HTTP; the daemon answers.

The daemon must first prove that it is ours. If none runs, the first message starts one, provided that one has served
this vault before (mcp-memory start); --create makes the vault, too. An older version is replaced. Clients don't notice
a restart. A message that can't be answered gets an error that says what to do. Ends with its input, or with the program
that started it.

example:  mcp-memory stdio --client my-editor

In the client's configuration:

  {"mcpServers": {"memory": {"command": "mcp-memory", "args": ["stdio", "--client", "NAME"]}}}"""

LAST_ANSWERS_S = 1.5
"""How long to wait for answers after the input has ended. Clients that close it wait about two seconds before they kill
the process."""

PARENT_CHECK_S = 1.0


def headers(arguments: Sequence[str]) -> int:
    """Print the headers. Returns the exit code: 0, 1, 2 for a bad argument, 3 if no daemon runs or can be started."""
    options = _parse("mcp-memory headers", HEADERS_USAGE, arguments)
    try:
        proxy = ProxyOptions(options)
        proxy.reach()
        found = proxy.headers()
    except McpMemoryError as error:
        print(json.dumps({}))
        print(f"mcp-memory: {error}", file=sys.stderr)
        return 3 if isinstance(error, (NotRunning, Busy)) else 2 if isinstance(error, InvalidInput) else 1
    print(json.dumps(found))
    return 0


def stdio(arguments: Sequence[str]) -> int:
    """Serve a client. Returns an exit code only for wrong options; otherwise the process ends with its client, with
    0."""
    from mcp_memory.client.connection import ConnectionPool
    from mcp_memory.client.stdio_proxy import StdioProxy

    options = _parse("mcp-memory stdio", STDIO_USAGE, arguments)
    try:
        proxy = ProxyOptions(options)
    except McpMemoryError as error:
        print(f"mcp-memory: {error}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    import threading

    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    pool = ConnectionPool(proxy.state.daemon, proxy.credentials, proxy.reach)
    bridge = StdioProxy(pool, proxy.headers, partial(_write, threading.Lock()))
    for line in iter(sys.stdin.buffer.readline, b""):
        if line.strip():
            bridge.forward(line)
    bridge.finish(LAST_ANSWERS_S)
    return _end()


class ProxyOptions:
    """A client of a vault, and its way to the daemon. Raises ConfigInvalid for a configuration without a vault."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        given = read_raw_settings(os.environ, {"vault"}, file=options.config, flags={"vault.path": options.vault})
        self._vault = Path(vault_folder(given.text("vault", "path", DEFAULT_VAULT)))
        self.state = StateFolder.for_vault(self._vault, os.environ)
        self.credentials = Credentials(self.state.tokens)

    def reach(self) -> None:
        """Start a daemon if needed, and return when a daemon that needn't be replaced answers.

        Raises NotRunning if this vault was never served, DeadlineExceeded, and the reason why a daemon can't be
        started."""
        if not self._is_served():
            from mcp_memory.daemon.launch import launch
            from mcp_memory.settings.settings import load

            options = self._options
            launch(load(os.environ, file=options.config, flags={"vault.path": options.vault}), [])

    def headers(self) -> dict[str, str]:
        """Return the headers that this client sends with each request. Raises InvalidInput for a name that doesn't fit
        into a header, Refused for a revoked client."""
        found = {"Authorization": f"Bearer {self.credentials.token(self._options.client)}"}
        if project := self._options.project:
            if not project.isprintable():
                raise InvalidInput("the project's name contains a control character", hint="use one line of plain text")
            found["Mcp-Memory-Project"] = _header(project)
        if project or self._options.client in IN_PROJECT:
            with suppress(OSError):  # the folder may be gone
                found["Mcp-Memory-Folder"] = _header(str(Path.cwd()))
        return found

    def _is_served(self) -> bool:
        try:
            address = Address.read(self.state.daemon)
            DaemonConnection(address, self.credentials).verify()
        except NotRunning:
            if not (self._options.create or self.state.port.exists() or was_served(self._vault)):
                raise
            return False
        return not is_newer(__version__, than=address.version)


def _parse(program: str, usage: str, arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. Ends the process for `--help`, and with exit code 2 for a wrong argument."""
    # A fixed width: otherwise argparse asks the terminal for it, and imports shutil and three archive formats.
    layout = partial(argparse.RawDescriptionHelpFormatter, width=118)
    parser = argparse.ArgumentParser(prog=program, description=usage, formatter_class=layout)
    parser.add_argument("--client", default="default", help="the client's name; each has its own token")
    parser.add_argument("--project", help="sent as Mcp-Memory-Project")
    parser.add_argument("--vault", help="the vault's folder; default: as configured")
    parser.add_argument("--config", type=Path, help="the configuration file")
    parser.add_argument("--create", action="store_true", help="make the vault and start its daemon, if none ever ran")
    return parser.parse_args(arguments)


def _header(text: str) -> str:
    """Return the text as a header's value, which may only contain ASCII; the server decodes percent signs."""
    import string
    from urllib.parse import quote

    return quote(os.fsencode(text), safe=string.punctuation.replace("%", "") + " ")


def _write(lock: threading.Lock, line: bytes) -> None:
    """Write one whole line of the protocol; end the process if nobody reads it."""
    rest = memoryview(line + b"\n")
    with lock:
        while rest:
            try:
                rest = rest[os.write(1, rest) :]
            except OSError:
                _end()


def _end_with(parent: int) -> None:
    """End the process when its parent has ended. A killed parent may leave our input open, because its other children
    have it too."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    _end()


def _end() -> NoReturn:
    """End the process at once: threads may wait for the daemon, but nobody waits for them any more."""
    os._exit(0)
