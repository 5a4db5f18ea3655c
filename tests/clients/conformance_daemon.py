"""`mcp-memory serve` with the conformance suite's fixtures beside our own tools; run as a program."""

from __future__ import annotations

import sys
from typing import Any

from mcp_memory.cli import main
from mcp_memory.server import app
from tests.clients.conformance_fixtures import mount


def serve_with_fixtures() -> int:
    """The daemon as it is, except that what `build_server` returns carries the fixtures too."""
    build_server = app.build_server

    def build_with_fixtures(*arguments: Any, **options: Any) -> Any:
        server = build_server(*arguments, **options)
        server._mcp_server.get_tool_input_schema = None  # some fixtures have arguments that come in a header
        mount(server)
        return server

    app.build_server = build_with_fixtures
    sys.argv[1:] = ["serve"]
    return main()


if __name__ == "__main__":
    sys.exit(serve_with_fixtures())
