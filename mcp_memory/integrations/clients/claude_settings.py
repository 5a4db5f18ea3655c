"""Predicts from Claude Code's settings files, as version 2.1.329 reads them, whether it runs hooks, connects a server,
and lets its tools be called. Only reads."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, Self

from mcp_memory.constants import TOOLS
from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import jsonc, text_file
from mcp_memory.integrations.clients.client import ClientPaths
from mcp_memory.integrations.syntax import read_table
from mcp_memory.text.parsed_values import list_at, table_at, value_at

Permission = Literal["allowed", "asked", "denied", "no rule"]
"""With `no rule`, Claude Code asks, because the settings have no rule for the tool."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A settings file. `values` are empty if Claude Code doesn't load it. A `managed` file belongs to an
    organization."""

    file: Path
    values: Mapping[str, Any]
    managed: bool = False


@dataclass(frozen=True, slots=True)
class ClaudeSettings:
    """The settings files, `layers`, the weakest first. `only`: the organization's file with the only servers allowed.
    `off`: the file that lists the servers you have switched off in this folder, and their names."""

    layers: Sequence[Layer]
    only: tuple[Path, Mapping[str, Any]] | None
    off: tuple[Path, Sequence[object]]

    @classmethod
    def read(cls, where: ClientPaths) -> Self:
        user = where.folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
        project = where.project or Path.cwd()
        own = [project / ".claude" / name for name in ("settings.json", "settings.local.json")]
        more = sorted((where.managed / "managed-settings.d").glob("*.json"))
        layers = [
            *(Layer(file, _table(file)) for file in (user, *own)),
            *(Layer(file, _table(file), managed=True) for file in (where.managed / "managed-settings.json", *more)),
        ]
        only = where.managed / "managed-mcp.json"
        config = user_config(where)
        here = table_at(_table(config), "projects", str(project))
        return cls(
            layers,
            (only, table_at(_table(only), "mcpServers")) if only.exists() else None,
            (config, list_at(here, "disabledMcpServers")),
        )

    def hooks_off(self) -> str | None:
        """Return the setting that switches your hooks off; None if they run."""
        for layer in self.layers:
            if layer.managed and layer.values.get("allowManagedHooksOnly") is True:
                return f"allowManagedHooksOnly in {layer.file}"
        switches = [layer for layer in self.layers if isinstance(layer.values.get("disableAllHooks"), bool)]
        is_off = switches and switches[-1].values["disableAllHooks"]
        return f"disableAllHooks in {switches[-1].file}" if is_off else None

    def server_off(self, name: str, url: object) -> str | None:
        """Return the reason why Claude Code doesn't connect to the server; None if it does."""
        if self.only and name not in self.only[1]:
            return f"{self.only[0]} lists the only servers allowed"
        if name in self.off[1]:
            return f"it is switched off for this folder in {self.off[0]}"
        for layer in self.layers:
            if any(_is_meant(entry, name, url) for entry in list_at(layer.values, "deniedMcpServers")):
                return f"deniedMcpServers in {layer.file}"
        lists = [layer for layer in self.layers if isinstance(layer.values.get("allowedMcpServers"), list)]
        allowed = [entry for layer in lists for entry in list_at(layer.values, "allowedMcpServers")]
        if lists and not any(_is_meant(entry, name, url) for entry in allowed):
            return f"allowedMcpServers in {lists[-1].file}"
        return None

    def permission(self, server: str) -> Permission:
        """Return whether the agent may call the server's tools. Deny rules take precedence over ask rules, and ask
        rules over allow rules."""
        managed = [layer for layer in self.layers if layer.managed]
        only_managed = any(layer.values.get("allowManagedPermissionRulesOnly") is True for layer in managed)
        counted = managed if only_managed else self.layers

        def rules(kind: str) -> list[object]:
            return [rule for layer in counted for rule in list_at(layer.values, "permissions", kind)]

        deny, ask, allow = rules("deny"), rules("ask"), rules("allow")
        if any(_fits(rule, server, tool) for rule in deny for tool in TOOLS):
            return "denied"
        if any(_fits(rule, server, tool) for rule in ask for tool in TOOLS):
            return "asked"
        named = [rule for rule in allow if str(rule).startswith(f"mcp__{server}")]  # Claude Code ignores the others
        if all(any(_fits(rule, server, tool) for rule in named) for tool in TOOLS):
            return "allowed"
        return "asked" if only_managed else "no rule"


def user_config(where: ClientPaths) -> Path:
    """Return the file with the servers and with what Claude Code notes about your projects."""
    return where.folder("CLAUDE_CONFIG_DIR", "") / ".claude.json"


def is_trusted_folder(where: ClientPaths) -> bool:
    """Return whether you have told Claude Code to trust the repository, whose settings it uses only then."""
    project = value_at(read_table(user_config(where)), "projects", str(where.project))
    return value_at(project, "hasTrustDialogAccepted") is True


def _fits(rule: object, server: str, tool: str) -> bool:
    """Return whether a permission rule applies to that tool of that server."""
    return rule == f"mcp__{server}" or (isinstance(rule, str) and _matches(rule, f"mcp__{server}__{tool}"))


def _is_meant(entry: object, name: str, url: object) -> bool:
    pattern = value_at(entry, "serverUrl")
    return value_at(entry, "serverName") == name or (isinstance(pattern, str) and _matches(pattern, str(url)))


def _matches(pattern: str, text: str) -> bool:
    """Return whether a pattern, in which `*` matches any text, matches the whole text."""
    return fnmatchcase(text, re.sub(r"[\[?]", r"[\g<0>]", pattern))


def _table(file: Path) -> dict[str, Any]:
    """Return the file's settings; empty if Claude Code wouldn't load the file, since it reads plain JSON only."""
    with suppress(McpMemoryError):
        if jsonc.plain_fault(text_file.read_text(file)) is None:
            return read_table(file)
    return {}
