"""Our plugin as clients' own commands leave it in their files, as seen with the versions that the tests pin."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_memory.integrations.clients import ClientPaths
from mcp_memory.integrations.clients.openclaw import OpenClawPlugin
from mcp_memory.integrations.installed_plugin import find_installed_plugin

KEY = "mcp-memory@mcp-memory"
CACHE = "plugins/cache/mcp-memory/mcp-memory/0.1.0"
ENTRY = {"type": "http", "url": "http://127.0.0.1:8423/mcp"}


def write(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def claude_code(home: Path, **settings: object) -> None:
    write(home / ".claude" / "settings.json", {"enabledPlugins": {KEY: True}, **settings})
    copies = [{"scope": "user", "installPath": str(home / ".claude" / CACHE)}]
    write(home / ".claude/plugins/installed_plugins.json", {"version": 2, "plugins": {KEY: copies}})
    asked = {"url": {"type": "string", "default": ENTRY["url"]}}
    manifest = {"userConfig": asked, "mcpServers": {"memory": {**ENTRY, "url": "${user_config.url}"}}}
    write(home / ".claude" / CACHE / ".claude-plugin/plugin.json", manifest)


@pytest.mark.parametrize("url", [None, "http://127.0.0.1:9999/mcp"])
def test_claude_codes_address_is_a_setting(tmp_path: Path, url: str | None) -> None:
    claude_code(tmp_path, **({"pluginConfigs": {KEY: {"options": {"url": url}}}} if url else {}))
    found = find_installed_plugin("claude-code", ClientPaths(tmp_path, {}))
    assert found and (found.key, found.has_address) == (KEY, True)
    assert found.entry == {**ENTRY, "url": url or ENTRY["url"]}


def test_a_project_may_switch_it_off(tmp_path: Path) -> None:
    claude_code(tmp_path)
    write(tmp_path / "repo/.claude/settings.json", {"enabledPlugins": {KEY: False}})
    assert find_installed_plugin("claude-code", ClientPaths(tmp_path, {}, tmp_path / "repo")) is None
    assert find_installed_plugin("claude-code", ClientPaths(tmp_path, {}))


@pytest.mark.parametrize(
    ("config", "is_in"),
    [
        (f'[plugins."{KEY}"]\nenabled = true\n', True),
        (f'[plugins."{KEY}"]\nenabled = false\n', False),
        (f'features = {{ plugins = false }}\n[plugins."{KEY}"]\nenabled = true\n', False),
        ('[plugins."other@mcp-memory"]\nenabled = true\n', False),
        ("", False),
        ("[broken", False),
    ],
)
def test_codex(tmp_path: Path, config: str, is_in: bool) -> None:
    write(tmp_path / ".codex/config.toml", config)
    write(tmp_path / ".codex" / CACHE / "codex/mcp.json", {"mcpServers": {"memory": ENTRY}})
    found = find_installed_plugin("codex", ClientPaths(tmp_path, {}))
    assert (found is not None and found.entry == ENTRY) is is_in


def test_openclaws_shop_says_no_command() -> None:
    plugin = OpenClawPlugin("/opt/plugin", "/opt/mcp-memory hook EVENT --client openclaw", None)
    entry = {"enabled": True, "hooks": {"allowConversationAccess": True}}
    text = json.dumps({"plugins": {"entries": {"mcp-memory": entry}, "slots": {"memory": "mcp-memory"}}})
    assert plugin.is_from_marketplace(text) and plugin.is_on(text) and plugin.may_see(text)
    assert not plugin.is_from_marketplace(plugin.insert(text)) and not plugin.is_from_marketplace("{}")
