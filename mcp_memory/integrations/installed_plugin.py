"""Our plugin as a client has it from its own shop: whether it is there, and what it brings. Reads, never writes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import config_files, jsonc, toml
from mcp_memory.integrations.clients import ClientPaths, config_file
from mcp_memory.integrations.plugin_bundle import NAME

SERVER = "memory"
"""What the plugin calls our server."""

_URL = "${user_config.url}"


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """`file` says that the client loads it, under the name `key`; `entry` is the server's. `has_address`: its address
    is a setting of the client."""

    file: Path
    key: str
    entry: Mapping[str, Any]
    has_address: bool = False

    @property
    def server(self) -> str:
        """What Claude Code calls it, where rules name it."""
        return f"plugin_{NAME}_{SERVER}"


def find_installed_plugin(client: str, where: ClientPaths) -> InstalledPlugin | None:
    """Of Claude Code and Codex, where it is put in and switched on. OpenClaw's is in its configuration."""
    if client == "claude-code":
        return _claude_code(where)
    return _codex(where) if client == "codex" else None


def _claude_code(where: ClientPaths) -> InstalledPlugin | None:
    folder = where.folder("CLAUDE_CONFIG_DIR", ".claude")
    places = [folder / "settings.json"]
    if where.project:
        places += [where.project / ".claude" / name for name in ("settings.json", "settings.local.json")]
    settings = {place: _table(place) for place in places}  # a later one counts more
    said = {
        key: (is_on is True, place) for place in places for key, is_on in _at(settings[place], "enabledPlugins").items()
    }
    installed = _at(_table(folder / "plugins" / "installed_plugins.json"), "plugins")
    for key, (is_on, place) in said.items():
        if not is_on or not _is_ours(key) or not isinstance(installed.get(key), list):
            continue
        for copy in reversed(cast("list[object]", installed[key])):
            manifest = _table(Path(str(_at(copy).get("installPath"))) / ".claude-plugin" / "plugin.json")
            entry = _at(manifest, "mcpServers", SERVER)
            if entry:
                chosen = [_at(settings[each], "pluginConfigs", key, "options").get("url") for each in places]
                default = _at(manifest, "userConfig", "url").get("default")
                url = next((each for each in [*reversed(chosen), default] if each), None)
                has_address = entry.get("url") == _URL
                return InstalledPlugin(place, key, {**entry, "url": url} if has_address else entry, has_address)
    return None


def _codex(where: ClientPaths) -> InstalledPlugin | None:
    file = config_file("codex", "user", where)
    assert file is not None, "Codex has one"
    config = _table(file)
    if _at(config, "features").get("plugins") is False:
        return None
    for key in _at(config, "plugins"):
        if _is_ours(key) and _at(config, "plugins", key).get("enabled") is not False:
            shop = key.partition("@")[2]
            copies = file.parent.joinpath("plugins", "cache", shop, NAME).glob("*/codex/mcp.json")
            for copy in sorted(copies, reverse=True):
                if entry := _at(_table(copy), "mcpServers", SERVER):
                    return InstalledPlugin(file, key, entry)
    return None


def _is_ours(key: str) -> bool:
    return key.partition("@")[0] == NAME


def _table(file: Path) -> Mapping[str, Any]:
    """Empty for a file that is not there or cannot be read: then its client does not load from it either."""
    with suppress(McpMemoryError, UnicodeDecodeError):
        text = (config_files.read(file) or b"").decode()
        found: Any = toml.value_of(text) if file.suffix == ".toml" else jsonc.value_of(text)
        return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}
    return {}


def _at(value: object, *path: str) -> Mapping[str, Any]:
    """The table there, or an empty one."""
    for key in path:
        value = cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else None
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
