"""The MCP library's own client, over each transport."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from mcp_memory.client.connection import Address
from tests.daemon.place import Place


def over_stdio(place: Place, client: str, mode: Any = "auto", command: Sequence[str] = ()) -> Client:
    program, *arguments = command or place.command("stdio", "--client", client, "--project", "mill")
    server = StdioServerParameters(command=program, args=arguments, env=place.environ, cwd=place.root)
    return Client(stdio_client(server), mode=mode)


def over_http(place: Place, client: str, mode: Any = "auto") -> Client:
    headers = place.run("headers", "--client", client, "--project", "mill").ok().json
    http = create_mcp_http_client(headers=headers)
    return Client(streamable_http_client(Address.read(place.state.daemon).url, http_client=http), mode=mode)
