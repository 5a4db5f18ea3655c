"""The command line. Imports everything below; nothing imports it.

`main` looks at the first word before it imports anything: `headers` is waited for by an agent's start-up.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run `mcp-memory`; returns the exit code: 0 ok, 1 failed, 2 usage, 3 not running or busy, 4 not found."""
    if sys.argv[1:2] == ["headers"]:
        from mcp_memory.cli.headers import headers

        return headers(sys.argv[2:])
    from mcp_memory.telemetry import switch_off

    switch_off()
    from mcp_memory.cli.app import run

    return run()
