"""Claude Code: HTTP with a headers helper, hooks, a permission rule and `CLAUDE.md`; and its settings, in the order
in which they override one another."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import jsonc, text_file
from mcp_memory.integrations.clients.client import ACTIONS, OWN_TOOLS, Client, ClientPaths, ConnectionDetails, Scope
from mcp_memory.integrations.config_entries import ConfigEntry, HookEvent, PermissionRule
from mcp_memory.integrations.server_entry import read_table
from mcp_memory.text.parsed_values import list_at, table_at, value_at
from mcp_memory.tool_names import TOOLS

Permission = Literal["allowed", "asked", "denied", "no rule"]
"""With `no rule`, Claude Code asks, because the settings have no rule for the tool."""


class Layer(NamedTuple):
    """A settings file. `values` are empty if Claude Code doesn't load it."""

    file: Path
    values: Mapping[str, Any]


@dataclass(frozen=True)
class ClaudeSettings:
    """Your own settings files, `layers`, the weakest first. `off`: the file that lists the servers that you have
    switched off in this folder, and their names."""

    layers: Sequence[Layer]
    off: tuple[Path, Sequence[object]]

    @classmethod
    def read(cls, where: ClientPaths) -> Self:
        user = where.folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
        project = where.project or Path.cwd()
        own = [project / ".claude" / name for name in ("settings.json", "settings.local.json")]
        config = user_config(where)
        here = table_at(_table(config), "projects", str(project))
        layers = [Layer(file, _table(file)) for file in (user, *own)]
        return cls(layers, (config, list_at(here, "disabledMcpServers")))

    def hooks_off(self) -> str | None:
        """Return the setting that switches your hooks off; None if they run."""
        switches = [layer for layer in self.layers if isinstance(layer.values.get("disableAllHooks"), bool)]
        is_off = switches and switches[-1].values["disableAllHooks"]
        return f"disableAllHooks in {switches[-1].file}" if is_off else None

    def server_off(self, name: str) -> str | None:
        """Return the reason why Claude Code doesn't connect to the server; None if it does."""
        file, names = self.off
        return f"it is switched off for this folder in {file}" if name in names else None

    def permission(self, server: str) -> Permission:
        """Return whether the agent may call the server's tools. Deny rules take precedence over ask rules, and ask
        rules over allow rules."""

        def rules(kind: str) -> list[object]:
            return [rule for layer in self.layers for rule in list_at(layer.values, "permissions", kind)]

        if any(_fits(rule, server, tool) for rule in rules("deny") for tool in TOOLS):
            return "denied"
        if any(_fits(rule, server, tool) for rule in rules("ask") for tool in TOOLS):
            return "asked"
        named = [rule for rule in rules("allow") if str(rule).startswith(f"mcp__{server}")]
        # Claude Code ignores other rules that would allow the tools.
        return "allowed" if all(any(_fits(rule, server, tool) for rule in named) for tool in TOOLS) else "no rule"


def user_config(where: ClientPaths) -> Path:
    """Return the file with the servers and with what Claude Code notes about your projects."""
    return where.folder("CLAUDE_CONFIG_DIR", "") / ".claude.json"


def is_trusted_folder(where: ClientPaths) -> bool:
    """Return whether you have told Claude Code to trust the repository, whose settings it uses only then."""
    project = value_at(read_table(user_config(where)), "projects", str(where.project))
    return value_at(project, "hasTrustDialogAccepted") is True


def _fits(rule: object, server: str, tool: str) -> bool:
    """Return whether a permission rule, in which `*` matches any text, applies to that tool of that server."""
    if not isinstance(rule, str):
        return False
    pattern = re.sub(r"[\[?]", r"[\g<0>]", rule)
    return rule == f"mcp__{server}" or fnmatchcase(f"mcp__{server}__{tool}", pattern)


def _table(file: Path) -> dict[str, Any]:
    """Return the file's settings; empty if Claude Code wouldn't load the file, since it reads plain JSON only."""
    with suppress(McpMemoryError):
        if jsonc.plain_fault(text_file.read_text(file)) is None:
            return read_table(file)
    return {}


class ClaudeCode(Client):
    """Claude Code, configured in `~/.claude.json` or `.mcp.json`, and in its settings files."""

    name = "claude-code"
    title = "Claude Code"
    program = "claude"
    project_file = ".mcp.json"
    runs = "headers"
    locks = True
    rules = "CLAUDE.md"
    project_rules = "CLAUDE.md"
    tolerates = ""
    own_memory = "autoMemoryEnabled"
    has_own_memory = True
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
