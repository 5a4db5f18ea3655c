"""Cursor: `~/.cursor/mcp.json` (as its documentation describes it)."""

from typing import ClassVar

from mcp_memory.integrations.clients.stdio_client import StdioClient


class Cursor(StdioClient):
    """Cursor, without a list of tools that need no approval: our list would replace the list in its settings, which
    also contain the instructions for all projects."""

    name: ClassVar = "cursor"
    title: ClassVar = "Cursor"
    program: ClassVar = "cursor"
    scopes: ClassVar = ("user", "project")
    home: ClassVar = ".cursor"
    file: ClassVar = "mcp.json"
    project_file: ClassVar = ".cursor/mcp.json"
    more: ClassVar = {"type": "stdio"}
