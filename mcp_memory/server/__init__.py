"""The MCP app and the HTTP interface, behind a guard that checks Host, Origin and token.

The server has no state of its own. It translates errors into tool errors and HTTP statuses. It enforces invariant 9 at
the edge: every byte from outside is checked here first.
"""

from mcp_memory.runtime.telemetry import switch_off

switch_off()  # before anything imports fastmcp
