"""What the tools' list costs: nothing at a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool
from starlette.testclient import TestClient

from mcp_memory.server.app import take_nothing_from_headers
from tests.daemon.wire import JSON, SESSIONLESS, Wire


class Listings(Middleware):
    count = 0

    async def on_list_tools(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Sequence[Tool]]
    ) -> Sequence[Tool]:
        self.count += 1
        return await call_next(context)


def test_a_call_does_not_list_the_tools():
    counts: list[int] = []
    for prepare in (lambda _server: None, take_nothing_from_headers):
        listings = Listings()
        server = FastMCP("small", middleware=[listings])
        server.add_tool(Tool.from_function(_echo))
        prepare(server)
        with TestClient(server.http_app(path="/mcp", stateless_http=True, json_response=True)) as client:
            assert "said" in _called(client)
        counts.append(listings.count)
    assert counts == [1, 0]


def test_no_tool_takes_an_argument_from_a_header(both: Wire):
    """As long as this is so, nothing has to be looked up."""
    assert "x-mcp-header" not in both.rpc("tools/list").text


def _echo(text: str) -> str:
    return text


def _called(client: TestClient) -> str:
    meta = {
        "io.modelcontextprotocol/protocolVersion": SESSIONLESS,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "_echo", "arguments": {"text": "said"}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"MCP-Protocol-Version": SESSIONLESS, "Mcp-Method": "tools/call", "Mcp-Name": "_echo"}
    return client.post("http://127.0.0.1/mcp", json=body, headers={**JSON, **headers}).text
