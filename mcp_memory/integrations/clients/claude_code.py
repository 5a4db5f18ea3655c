"""Claude Code: HTTP with a headers helper, hooks, a permission rule and `CLAUDE.md`."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import text_file
from mcp_memory.integrations.clients.claude_settings import ClaudeSettings, user_config
from mcp_memory.integrations.clients.client import ACTIONS, OWN_TOOLS, Client, ClientPaths, ConnectionDetails, Scope
from mcp_memory.integrations.config_entries import ConfigEntry, HookEvent, PermissionRule


class ClaudeCode(Client):
    """Claude Code, configured in `~/.claude.json` or `.mcp.json`, and in its settings files."""

    name: ClassVar = "claude-code"
    title: ClassVar = "Claude Code"
    program: ClassVar = "claude"
    project_file: ClassVar = ".mcp.json"
    runs: ClassVar = "headers"
    locks: ClassVar = True
    rules: ClassVar = "CLAUDE.md"
    project_rules: ClassVar = "CLAUDE.md"
    tolerates: ClassVar = ""
    own_memory: ClassVar = "autoMemoryEnabled"
    has_own_memory: ClassVar = True
    hooks: ClassVar = {
        "SessionStart": HookEvent("session-start"),
        "UserPromptSubmit": HookEvent("prompt"),
        "PreToolUse": HookEvent("before-tool", f"{OWN_TOOLS}|^(Agent|Task)$|{ACTIONS}"),
        "PostToolUseFailure": HookEvent("after-tool", ACTIONS),
        "SubagentStart": HookEvent("subagent-start"),
        "PreCompact": HookEvent("pre-compact"),
        "Stop": HookEvent("stop"),
        "SessionEnd": HookEvent("session-end"),
    }

    def config_file(self, scope: Scope, where: ClientPaths) -> Path:
        return user_config(where) if scope == "user" else super().config_file(scope, where)

    def folder(self, where: ClientPaths) -> Path:
        return where.folder("CLAUDE_CONFIG_DIR", ".claude")

    def hooks_file(self, scope: Scope, where: ClientPaths) -> Path:
        folder = self.folder(where) if scope == "user" else self.config_file(scope, where).with_name(".claude")
        return folder / "settings.json"

    def switches_file(self, where: ClientPaths) -> Path:
        return self.hooks_file("user", where)

    def memory_folder(self, where: ClientPaths) -> Path | None:
        folder = self.folder(where) / "projects"
        return folder if any(folder.glob("*/memory/*.md")) else None

    def further_entries(self, wire: ConnectionDetails) -> Iterator[tuple[Path, ConfigEntry]]:
        settings, server = self.hooks_file(wire.scope, wire.where), self.server(wire)
        with suppress(McpMemoryError):  # reported when the entry is planned
            text = text_file.read_text(self.config_file(wire.scope, wire.where))
            name = server.name_in(text)
            if not server.is_taken(text):
                yield settings, PermissionRule(name, tuple(other for other in server.names(text) if other != name))

    def why_server_off(self, name: str, entry: Mapping[str, Any], where: ClientPaths) -> str | None:  # noqa: ARG002 -- as the others
        return ClaudeSettings.read(where).server_off(name)

    def why_hooks_off(self, where: ClientPaths) -> str | None:
        return ClaudeSettings.read(where).hooks_off()
