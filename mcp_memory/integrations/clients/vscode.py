"""VS Code with Copilot: `mcp.json` of the default profile (as its documentation describes it)."""

from typing import ClassVar

from mcp_memory.integrations.clients.stdio_client import StdioClient


class VsCode(StdioClient):
    """VS Code. It asks for permission in its dialogs, and doesn't record the answer in its settings."""

    name: ClassVar = "vscode"
    title: ClassVar = "VS Code"
    program: ClassVar = "code"
    scopes: ClassVar = ("user", "project")
    home: ClassVar = ".config/Code/User"
    mac_home: ClassVar = "Library/Application Support/Code/User"
    path: ClassVar = ("servers",)
    file: ClassVar = "mcp.json"
    project_file: ClassVar = ".vscode/mcp.json"
    more: ClassVar = {"type": "stdio"}
    rules: ClassVar = "prompts/mcp-memory.instructions.md"
    rules_head: ClassVar = '---\napplyTo: "**"\n---\n'
