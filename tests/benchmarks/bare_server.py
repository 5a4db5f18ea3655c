"""The floor: one empty FastMCP tool over the same HTTP as the daemon's. Prints its port, serves until killed."""

from __future__ import annotations

import socket

from mcp_memory.runtime.telemetry import switch_off

switch_off()

import uvicorn  # noqa: E402 -- after the switches
from fastmcp import FastMCP  # noqa: E402 -- after the switches

server = FastMCP("bare")


@server.tool
def nothing(query: str) -> str:
    """Does nothing."""
    return query


if __name__ == "__main__":
    # With its protocol named, asyncio sets TCP_NODELAY; without, calls take 40 ms of Nagle's algorithm.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)
    app = server.http_app(path="/mcp", stateless_http=True, json_response=True)
    config = uvicorn.Config(app, log_level="error", access_log=False, timeout_keep_alive=75)
    uvicorn.Server(config).run(sockets=[listening])
