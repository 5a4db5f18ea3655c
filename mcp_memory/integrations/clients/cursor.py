"""Cursor: `~/.cursor/mcp.json` (as its documentation describes it)."""

from typing import ClassVar

from mcp_memory.integrations.clients.stdio_client import StdioClient


class Cursor(StdioClient):
    """A list of ours of tools that need no approval would replace the one in its settings, which also hold the
    instructions for all projects."""

    name: ClassVar = "cursor"
    title: ClassVar = "Cursor"
    program: ClassVar = "cursor"
    scopes: ClassVar = ("user", "project")
    home: ClassVar = ".cursor"
    file: ClassVar = "mcp.json"
    project_file: ClassVar = ".cursor/mcp.json"
    more: ClassVar = {"type": "stdio"}
