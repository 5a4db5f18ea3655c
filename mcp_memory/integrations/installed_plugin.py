"""Finds our plugin where a client installed it from its own marketplace. Read-only."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_memory.errors import Refused
from mcp_memory.integrations import commands
from mcp_memory.integrations.clients import CLIENTS, ClientPaths
from mcp_memory.integrations.clients.claude_settings import ClaudeSettings
from mcp_memory.integrations.server_entry import command_line
from mcp_memory.integrations.syntax import read_table
from mcp_memory.text.parsed_values import list_at, table_at, value_at

NAME = "mcp-memory"
SERVER = "memory"
"""The plugin's name for our server."""

_URL = "${user_config.url}"


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """Our plugin, which `file` makes the client load under the name `key`. `entry` is the server's. `has_address`:
    whether the server's address is a setting of the client."""

    file: Path
    key: str
    entry: Mapping[str, Any]
    has_address: bool = False

    @property
    def server(self) -> str:
        """The server's name in Claude Code's permission rules."""
        return f"plugin_{NAME}_{SERVER}"


def find_installed_plugin(client: str, where: ClientPaths) -> InstalledPlugin | None:
    """Find the plugin of Claude Code or Codex if it is installed and on. OpenClaw's plugin is in its configuration."""
    if client == "claude-code":
        return _claude_code(where)
    return _codex(where) if client == "codex" else None


def refuse_installed_plugin(client: str, where: ClientPaths, entry: Mapping[str, Any]) -> None:
    """Refuse to connect a client that has our plugin for the same vault, since hooks and tools would run twice. Raises
    Refused."""
    plugin = find_installed_plugin(client, where)
    if plugin and commands.read(command_line(plugin.entry)) == commands.read(command_line(entry)):
        raise Refused(
            f"{CLIENTS[client].title} has our plugin {plugin.key} ({plugin.file}): hooks and tools would come twice",
            hint=f"keep it, or: {CLIENTS[client].program} plugin remove {plugin.key}, then the same command again",
        )


def _claude_code(where: ClientPaths) -> InstalledPlugin | None:
    layers = ClaudeSettings.read(where).layers
    deciding = {key: layer for layer in layers for key in table_at(layer.values, "enabledPlugins")}
    folder = CLIENTS["claude-code"].folder(where)
    installed = table_at(read_table(folder / "plugins" / "installed_plugins.json"), "plugins")
    for key, layer in deciding.items():
        if not _is_ours(key) or value_at(layer.values, "enabledPlugins", key) is not True:
            continue
        for copy in reversed(list_at(installed, key)):
            root = Path(str(value_at(copy, "installPath")))
            manifest = read_table(root / ".claude-plugin" / "plugin.json")
            if entry := table_at(manifest, "mcpServers", SERVER):
                if entry.get("url") != _URL:
                    return InstalledPlugin(layer.file, key, entry)
                chosen: list[Any] = [
                    value_at(each.values, "pluginConfigs", key, "options", "url") for each in reversed(layers)
                ]
                url = next((url for url in chosen if url), value_at(manifest, "userConfig", "url", "default"))
                return InstalledPlugin(layer.file, key, {**entry, "url": url}, has_address=True)
    return None


def _codex(where: ClientPaths) -> InstalledPlugin | None:
    file = CLIENTS["codex"].config_file("user", where)
    config = read_table(file)
    if value_at(config, "features", "plugins") is False:
        return None
    for key in table_at(config, "plugins"):
        if _is_ours(key) and value_at(config, "plugins", key, "enabled") is not False:
            shop = key.partition("@")[2]
            copies = file.parent.joinpath("plugins", "cache", shop, NAME).glob("*/codex/mcp.json")
            for copy in sorted(copies, reverse=True):
                if entry := table_at(read_table(copy), "mcpServers", SERVER):
                    return InstalledPlugin(file, key, entry)
    return None


def _is_ours(key: str) -> bool:
    return key.partition("@")[0] == NAME
