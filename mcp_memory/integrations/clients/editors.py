"""Cursor, and VS Code with Copilot, as their documentation describes them. Neither has hooks of our form."""

from pathlib import Path
from typing import ClassVar

from mcp_memory.integrations.clients.client import Client, ClientPaths


class Cursor(Client):
    """Cursor, without a list of tools that need no approval: our list would replace the list in its settings, which
    also contain the instructions for all projects."""

    name = "cursor"
    title = "Cursor"
    program = "cursor"
    home = ".cursor"
    file = "mcp.json"
    project_file = ".cursor/mcp.json"
    more: ClassVar = {"type": "stdio"}


class VsCode(Client):
    """VS Code, with the `mcp.json` of the default profile. It asks for permission in its dialogs, and doesn't record
    the answer in its settings."""

    name = "vscode"
    title = "VS Code"
    program = "code"
    file = "mcp.json"
    project_file = ".vscode/mcp.json"
    path = ("servers",)
    more: ClassVar = {"type": "stdio"}
    rules = "prompts/mcp-memory.instructions.md"
    rules_head = '---\napplyTo: "**"\n---\n'

    def folder(self, where: ClientPaths) -> Path:
        if where.is_mac:
            return where.home / "Library/Application Support/Code/User"
        return where.folder("XDG_CONFIG_HOME", ".config") / "Code/User"
