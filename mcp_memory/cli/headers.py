"""`mcp-memory headers`: what an MCP client sends with each request. Standard library only: agents wait for it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_memory import __version__
from mcp_memory.errors import Busy, InvalidInput, McpMemoryError, NotRunning

if TYPE_CHECKING:
    from mcp_memory.client.credentials import Credentials
    from mcp_memory.settings.state import StateFolder

USAGE = """Print the HTTP headers of one client as a JSON object: the bearer token, and with --project the project.

The running daemon must first prove that it is ours, so that no other program on its port gets the token. Where none
runs it is started, if it has ever served this vault, and one of an older version is replaced; else {} is printed and
the exit code is 3. Meant for a client's `headersHelper` or `http_headers_helper`.

example:  mcp-memory headers --client claude-code"""


def headers(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, 1, 2 for a bad argument, 3 where no daemon runs or can be started."""
    # With no width argparse imports shutil, and with it three archive formats, to ask the terminal for one.
    layout = partial(argparse.RawDescriptionHelpFormatter, width=118)
    parser = argparse.ArgumentParser(prog="mcp-memory headers", description=USAGE, formatter_class=layout)
    parser.add_argument("--client", default="default", help="the client's name; each has a token of its own")
    parser.add_argument("--project", help="sent as Mcp-Memory-Project; default: none")
    parser.add_argument("--vault", help="the vault's folder; default: the configured one")
    parser.add_argument("--config", type=Path, help="the configuration file")
    options = parser.parse_args(arguments)
    try:
        found = _headers(options)
    except McpMemoryError as error:
        print(json.dumps({}))
        print(f"mcp-memory: {error}", file=sys.stderr)
        return 3 if isinstance(error, (NotRunning, Busy)) else 2 if isinstance(error, InvalidInput) else 1
    print(json.dumps(found))
    return 0


def _headers(options: argparse.Namespace) -> dict[str, str]:
    from mcp_memory.client.credentials import Credentials
    from mcp_memory.engine.default_vault import DEFAULT_VAULT
    from mcp_memory.settings.given import read
    from mcp_memory.settings.state import StateFolder, vault_folder

    given = read(os.environ, {"vault"}, file=options.config, flags={"vault.path": options.vault})
    state = StateFolder.of(vault_folder(given.text("vault", "path", DEFAULT_VAULT)), os.environ)
    credentials = Credentials(state.tokens)
    if not _serves(state, credentials):
        from mcp_memory.daemon.launch import launch
        from mcp_memory.settings.settings import load

        launch(load(os.environ, file=options.config, flags={"vault.path": options.vault}), [])
    found = {"Authorization": f"Bearer {credentials.token(options.client)}"}
    if options.project:
        found["Mcp-Memory-Project"] = _header(options.project)
    return found


def _serves(state: StateFolder, credentials: Credentials) -> bool:
    """Whether a daemon answers that need not be replaced. Raises NotRunning where there never was one."""
    from mcp_memory.client.connection import Address, Connection

    try:
        address = Address.read(state.daemon)
        Connection(address, credentials).verify()
    except NotRunning:
        if not state.port.exists():
            raise
        return False
    if address.version == __version__:
        return True
    from mcp_memory.client.versions import is_newer

    return not is_newer(__version__, than=address.version)


def _header(project: str) -> str:
    """A header holds ASCII only; the server decodes percent signs."""
    if not project.isprintable():
        raise InvalidInput("the project's name holds a control character", hint="use one line of plain text")
    import string
    from urllib.parse import quote

    return quote(project, safe=string.punctuation.replace("%", "") + " ")
