"""What a first call would have to import is imported before it comes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FIRST_CALL = """
import sys
import anyio, httpx2
from mcp_memory.runtime.telemetry import switch_off
switch_off()
from fastmcp import FastMCP
from mcp_memory.server.app import preload

server = FastMCP("first")

@server.tool
async def nothing() -> str:
    return ""

async def call():
    app = server.http_app(path="/mcp", stateless_http=True, json_response=True)
    async with app.router.lifespan_context(app):
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1") as client:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nothing", "arguments": {}}}
            headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
            if "preload" in sys.argv:
                preload()
            before = set(sys.modules)
            assert (await client.post("/mcp", json=body, headers=headers)).status_code == 200
            print(len([name for name in set(sys.modules) - before if not name.startswith("fastmcp.")]))

anyio.run(call)
"""


def imported(*arguments: str) -> int:
    command = [sys.executable, "-c", FIRST_CALL, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    return int(ran.stdout)


def test_the_first_call_imports_no_library() -> None:
    assert imported("preload") == 0
    assert imported() > 10, "FastMCP imports nothing late any more: preload can go"
