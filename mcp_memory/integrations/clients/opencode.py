"""opencode: `~/.config/opencode/opencode.json`, or `.jsonc` if you have that (as version 1.18.33 reads it)."""

from pathlib import Path
from typing import Any, ClassVar

from mcp_memory.integrations.clients.client import ClientPaths, Scope
from mcp_memory.integrations.clients.stdio_client import StdioClient


class OpenCode(StdioClient):
    """It lets an agent call MCP tools without asking, unless you configured otherwise."""

    name: ClassVar = "opencode"
    title: ClassVar = "opencode"
    program: ClassVar = "opencode"
    scopes: ClassVar = ("user", "project")
    home: ClassVar = ".config/opencode"
    path: ClassVar = ("mcp",)
    file: ClassVar = "opencode.json"
    project_file: ClassVar = "opencode.json"
    rules: ClassVar = "AGENTS.md"

    def config_file(self, scope: Scope, where: ClientPaths) -> Path | None:
        file = super().config_file(scope, where)
        other = file.with_suffix(".jsonc") if file else None
        return other if other and other.exists() else file

    def rules_file(self, scope: Scope, where: ClientPaths) -> Path | None:
        """Without an `AGENTS.md` of its own it reads Claude Code's file, which ours would replace."""
        file = super().rules_file(scope, where)
        claude = where.home / ".claude" / "CLAUDE.md"
        return None if file and scope == "user" and claude.exists() and not file.exists() else file

    def shape(self, command: str, arguments: list[str]) -> dict[str, Any]:
        return {"type": "local", "command": [command, *arguments], "enabled": True}
