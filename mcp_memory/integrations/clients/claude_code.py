"""Claude Code: HTTP with a headers helper, hooks, a permission rule and `CLAUDE.md`."""

from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import text_file
from mcp_memory.integrations.clients.client import ACTIONS, OWN_TOOLS, Client, ClientPaths, ConnectionDetails, Scope
from mcp_memory.integrations.config_entries import ConfigEntry, HookEvent, PermissionRule
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.integrations.marked_block import InstructionBlock
from mcp_memory.integrations.own_memory import OwnMemory
from mcp_memory.integrations.server_entry import EntryIdentity, ServerEntry


class ClaudeCode(Client):
    """Claude Code, configured in `~/.claude.json` or `.mcp.json`, and in its settings files."""

    name: ClassVar = "claude-code"
    title: ClassVar = "Claude Code"
    program: ClassVar = "claude"
    scopes: ClassVar = ("user", "project")
    tolerates: ClassVar = ""
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

    def config_file(self, scope: Scope, where: ClientPaths) -> Path | None:
        if scope == "project":
            return where.project / ".mcp.json" if where.project else None
        return where.folder("CLAUDE_CONFIG_DIR", "") / ".claude.json"

    def folder(self, where: ClientPaths) -> Path:
        return where.folder("CLAUDE_CONFIG_DIR", ".claude")

    def memory_folder(self, where: ClientPaths) -> Path | None:
        folder = self.folder(where) / "projects"
        return folder if any(folder.glob("*/memory/*.md")) else None

    def targets(self, scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:
        config = self._config(scope, where)
        root = where.project if scope == "project" else None
        folder = root / ".claude" if root else self.folder(where)
        identity = EntryIdentity(self.name, wire.vault)
        server = ServerEntry("json", ("mcpServers",), wire.name, wire.entry, identity, wire.chosen)
        name = _server_name(config, server)
        more: tuple[ConfigEntry, ...] = (self.hook_entries(wire.hooks, wire.vault, name),) if hooks else ()
        own = () if root else (OwnMemory("json", ("autoMemoryEnabled",), default=True),)
        return [
            ConfigTarget(config, (server,), lock=None if root else config.with_name(f"{config.name}.lock")),
            ConfigTarget(folder / "settings.json", (*more, *_permission(config, server, name), *own)),
            ConfigTarget((root or folder) / "CLAUDE.md", (InstructionBlock(wire.instructions),)),
        ]


def _server_name(config: Path, server: ServerEntry) -> str:
    """Return the name that our entry has in the file, or will get."""
    with suppress(McpMemoryError):  # reported when the entry is planned
        return server.name_in(text_file.read_text(config))
    return server.name


def _permission(config: Path, server: ServerEntry, name: str) -> tuple[PermissionRule, ...]:
    with suppress(McpMemoryError):  # reported when the entry is planned
        text = text_file.read_text(config)
        if not server.is_taken(text):
            return (PermissionRule(name, tuple(other for other in server.names(text) if other != name)),)
    return ()
