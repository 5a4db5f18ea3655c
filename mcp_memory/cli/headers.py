"""`mcp-memory headers`: what an MCP client sends with each request. Standard library only: agents wait for it."""

from __future__ import annotations

import argparse
import json
import os
import string
import sys
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

from mcp_memory.errors import InvalidInput, McpMemoryError, NotRunning

USAGE = """Print the HTTP headers of one client as a JSON object: the bearer token, and with --project the project.

The running daemon must first prove that it is ours, so that no other program on its port gets the token; without
one, {} is printed and the exit code is 3. Meant for a client's `headersHelper` or `http_headers_helper`.

example:  mcp-memory headers --client claude-code"""


def headers(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, 2 for a bad argument, 3 where no daemon runs."""
    parser = argparse.ArgumentParser(
        prog="mcp-memory headers", description=USAGE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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
        return 3 if isinstance(error, NotRunning) else 2 if isinstance(error, InvalidInput) else 1
    print(json.dumps(found))
    return 0


def _headers(options: argparse.Namespace) -> dict[str, str]:
    from mcp_memory.client.connection import Address, Connection
    from mcp_memory.client.credentials import Credentials
    from mcp_memory.settings import load

    settings = load(os.environ, file=options.config, flags={"vault.path": options.vault})
    credentials = Credentials(settings.state.tokens)
    Connection(Address.read(settings.state.daemon), credentials).verify()
    found = {"Authorization": f"Bearer {credentials.token(options.client)}"}
    if options.project:
        found["Mcp-Memory-Project"] = _header(options.project)
    return found


def _header(project: str) -> str:
    """A header holds ASCII only; the server decodes percent signs."""
    if not project.isprintable():
        raise InvalidInput("the project's name holds a control character", hint="use one line of plain text")
    return urllib.parse.quote(project, safe=string.punctuation.replace("%", "") + " ")
