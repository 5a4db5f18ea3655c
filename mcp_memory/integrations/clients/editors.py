"""Cursor, and VS Code with Copilot, as their documentation describes them. Neither has hooks of our form."""

from pathlib import Path
from typing import ClassVar

from mcp_memory.integrations.clients.client import Client, ClientPaths


class Cursor(Client):
    """Cursor, without a list of tools that need no approval: our list would replace the list in its settings, which
    also contain the instructions for all projects."""

    name: ClassVar = "cursor"
    title: ClassVar = "Cursor"
    program: ClassVar = "cursor"
    home: ClassVar = ".cursor"
    file: ClassVar = "mcp.json"
    project_file: ClassVar = ".cursor/mcp.json"
    more: ClassVar = {"type": "stdio"}


class VsCode(Client):
    """VS Code, with the `mcp.json` of the default profile. It asks for permission in its dialogs, and doesn't record
    the answer in its settings."""

    name: ClassVar = "vscode"
    title: ClassVar = "VS Code"
    program: ClassVar = "code"
    file: ClassVar = "mcp.json"
    project_file: ClassVar = ".vscode/mcp.json"
    path: ClassVar = ("servers",)
    more: ClassVar = {"type": "stdio"}
    rules: ClassVar = "prompts/mcp-memory.instructions.md"
    rules_head: ClassVar = '---\napplyTo: "**"\n---\n'

    def folder(self, where: ClientPaths) -> Path:
        if where.is_mac:
            return where.home / "Library/Application Support/Code/User"
        return where.folder("XDG_CONFIG_HOME", ".config") / "Code/User"
