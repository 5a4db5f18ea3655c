"""`mcp-memory headers`: what an MCP client sends with each request. Standard library only: agents wait for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from mcp_memory.cli.clients.proxy_options import ProxyOptions, parse_options
from mcp_memory.errors import Busy, InvalidInput, McpMemoryError, NotRunning

USAGE = """Print the HTTP headers of one client as a JSON object: the bearer token, and with --project the project.

The running daemon must first prove that it is ours, so that no other program on its port gets the token. Where none
runs it is started, if it has ever served this vault, and one of an older version is replaced; else {} is printed and
the exit code is 3. Meant for a client's `headersHelper` or `http_headers_helper`.

example:  mcp-memory headers --client claude-code"""


def headers(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, 1, 2 for a bad argument, 3 where no daemon runs or can be started."""
    options = parse_options("mcp-memory headers", USAGE, arguments)
    try:
        caller = ProxyOptions(options)
        caller.reach()
        found = caller.headers()
    except McpMemoryError as error:
        print(json.dumps({}))
        print(f"mcp-memory: {error}", file=sys.stderr)
        return 3 if isinstance(error, (NotRunning, Busy)) else 2 if isinstance(error, InvalidInput) else 1
    print(json.dumps(found))
    return 0
