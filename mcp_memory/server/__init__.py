"""The server: the engine as an MCP server and a small HTTP interface, behind a gate.

Imports client, engine and what stands below; holds no state of its own. Translates errors of the one tree into
tool errors and HTTP statuses. Keeps invariant 9 at the edge: every byte from outside is checked here first.
"""

from mcp_memory.runtime.telemetry import switch_off

switch_off()  # before anything imports fastmcp
