"""What Claude Code goes by, as version 2.1.329 was seen to read its settings files: whether it runs hooks, connects a
server, and lets its tools be called. Reads, never writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import config_files, jsonc
from mcp_memory.integrations.clients import ClientPaths, config_file
from mcp_memory.integrations.config_tree import list_at, table_at, value_at

Permission = Literal["allowed", "asked", "denied", "no rule"]
"""`no rule`: it asks, since nobody has said anything."""

TOOLS = ("memory_search", "memory_recall", "memory_append", "memory_forget")


@dataclass(frozen=True, slots=True)
class Layer:
    """One file and what it says; nothing where Claude Code does not load it. `managed`: an organisation's."""

    file: Path
    says: Mapping[str, Any]
    managed: bool = False


@dataclass(frozen=True, slots=True)
class ClaudeSettings:
    """`layers`, the weakest first. `alone`: the organisation's file of the only servers that there are; `off`: servers
    that the person has switched off in this folder, and the file that says so."""

    layers: Sequence[Layer]
    alone: tuple[Path, Mapping[str, Any]] | None
    off: tuple[Path, Sequence[object]]

    @classmethod
    def read(cls, where: ClientPaths) -> ClaudeSettings:
        user = where.folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
        project = where.project or Path.cwd()
        own = [project / ".claude" / name for name in ("settings.json", "settings.local.json")]
        more = sorted((where.managed / "managed-settings.d").glob("*.json"))
        layers = [
            *(Layer(file, _table(file)) for file in (user, *own)),
            *(Layer(file, _table(file), managed=True) for file in (where.managed / "managed-settings.json", *more)),
        ]
        alone = where.managed / "managed-mcp.json"
        config = config_file("claude-code", "user", where)
        assert config is not None, "Claude Code has one"
        here = table_at(_table(config), "projects", str(project))
        return cls(
            layers,
            (alone, table_at(_table(alone), "mcpServers")) if alone.exists() else None,
            (config, list_at(here, "disabledMcpServers")),
        )

    def hooks_off(self) -> str | None:
        """What switches a person's hooks off; None where they run."""
        for layer in self.layers:
            if layer.managed and layer.says.get("allowManagedHooksOnly") is True:
                return f"allowManagedHooksOnly in {layer.file}"
        said = [layer for layer in self.layers if isinstance(layer.says.get("disableAllHooks"), bool)]
        return f"disableAllHooks in {said[-1].file}" if said and said[-1].says["disableAllHooks"] else None

    def server_off(self, name: str, url: object) -> str | None:
        """What keeps Claude Code from the server; None where nothing does."""
        if self.alone and name not in self.alone[1]:
            return f"{self.alone[0]} names all servers that there may be"
        if name in self.off[1]:
            return f"it is switched off for this folder in {self.off[0]}"
        for layer in self.layers:
            if any(_is_meant(each, name, url) for each in list_at(layer.says, "deniedMcpServers")):
                return f"deniedMcpServers in {layer.file}"
        lists = [layer for layer in self.layers if isinstance(layer.says.get("allowedMcpServers"), list)]
        allowed = [each for layer in lists for each in list_at(layer.says, "allowedMcpServers")]
        if lists and not any(_is_meant(each, name, url) for each in allowed):
            return f"allowedMcpServers in {lists[-1].file}"
        return None

    def permission(self, server: str) -> Permission:
        """Whether the agent may call the server's tools. What is denied counts before what is asked, and that before
        what is allowed."""
        alone = any(
            layer.managed and layer.says.get("allowManagedPermissionRulesOnly") is True for layer in self.layers
        )
        counted = [layer.says for layer in self.layers if layer.managed or not alone]
        rules = {
            kind: [rule for says in counted for rule in list_at(says, "permissions", kind)]
            for kind in ("deny", "ask", "allow")
        }
        if any(fits(rule, server, tool) for rule in rules["deny"] for tool in TOOLS):
            return "denied"
        if any(fits(rule, server, tool) for rule in rules["ask"] for tool in TOOLS):
            return "asked"
        named = [rule for rule in rules["allow"] if str(rule).startswith(f"mcp__{server}")]  # others are skipped
        if all(any(fits(rule, server, tool) for rule in named) for tool in TOOLS):
            return "allowed"
        return "asked" if alone else "no rule"


def fits(rule: object, server: str, tool: str) -> bool:
    """Whether a permission rule is about that tool of that server."""
    return rule == f"mcp__{server}" or (isinstance(rule, str) and _matches(rule, f"mcp__{server}__{tool}"))


def _is_meant(entry: object, name: str, url: object) -> bool:
    pattern = value_at(entry, "serverUrl")
    return value_at(entry, "serverName") == name or (isinstance(pattern, str) and _matches(pattern, str(url)))


def _matches(pattern: str, text: str) -> bool:
    """Whether a pattern, in which `*` stands for anything, is the whole of the text."""
    first, *rest = pattern.split("*")
    if not rest:
        return first == text
    *between, last = rest
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in between:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def _table(file: Path) -> dict[str, Any]:
    """Empty where Claude Code would not load the file: it reads plain JSON only."""
    with suppress(McpMemoryError):
        if jsonc.plain_fault((config_files.read(file) or b"").decode(errors="replace")) is None:
            return config_files.read_table(file)
    return {}
