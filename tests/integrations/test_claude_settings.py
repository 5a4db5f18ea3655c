"""What Claude Code 2.1.329 does with each of these settings, as it was seen to do it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_memory.integrations.clients import ClientPaths
from mcp_memory.integrations.clients.claude_settings import ClaudeSettings

URL = "http://127.0.0.1:8423/mcp"
ALLOWED = {"permissions": {"allow": ["mcp__memory__*"]}}

USER, PROJECT, LOCAL = "home/.claude/settings.json", "repo/.claude/settings.json", "repo/.claude/settings.local.json"
MANAGED, PART, ALONE = "etc/managed-settings.json", "etc/managed-settings.d/10-x.json", "etc/managed-mcp.json"


def read(root: Path, **files: object) -> ClaudeSettings:
    for name, content in files.items():
        file = root / globals().get(name, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return ClaudeSettings.read(ClientPaths(root / "home", {}, root / "repo", root / "etc"))


@pytest.mark.parametrize(
    ("files", "by"),
    [
        ({}, None),
        ({"USER": {"disableAllHooks": True}}, USER),
        ({"PROJECT": {"disableAllHooks": True}}, PROJECT),
        ({"LOCAL": {"disableAllHooks": True}}, LOCAL),
        ({"USER": {"disableAllHooks": True}, "LOCAL": {"disableAllHooks": False}}, None),
        ({"MANAGED": {"disableAllHooks": True}}, MANAGED),
        ({"PART": {"disableAllHooks": True}}, PART),
        ({"USER": {"disableAllHooks": True}, "MANAGED": {"disableAllHooks": False}}, None),
        ({"MANAGED": {"allowManagedHooksOnly": True}}, MANAGED),
        ({"USER": {"allowManagedHooksOnly": True}}, None),
        ({"LOCAL": '// mine\n{"disableAllHooks": true}'}, None),  # it loads no such file
    ],
)
def test_whether_hooks_run(tmp_path: Path, files: dict, by: str | None) -> None:
    off = read(tmp_path, **files).hooks_off()
    assert off is None if by is None else off and off.endswith(f"in {tmp_path / by}")


@pytest.mark.parametrize(
    ("files", "by"),
    [
        ({}, None),
        ({"LOCAL": {"deniedMcpServers": [{"serverName": "memory"}]}}, LOCAL),
        ({"MANAGED": {"deniedMcpServers": [{"serverUrl": "http://127.0.0.1:*/*"}]}}, MANAGED),
        ({"MANAGED": {"deniedMcpServers": [{"serverUrl": "https://*"}]}}, None),
        ({"MANAGED": {"allowedMcpServers": []}}, MANAGED),
        ({"MANAGED": {"allowedMcpServers": [{"serverName": "memory"}]}}, None),
        ({"MANAGED": {"allowedMcpServers": [{"serverUrl": "http://127.0.0.1:*/*"}]}}, None),
        ({"ALONE": {"mcpServers": {}}}, ALONE),
        ({"ALONE": {"mcpServers": {"memory": {"url": URL}}}}, None),
    ],
)
def test_whether_a_server_is_connected(tmp_path: Path, files: dict, by: str | None) -> None:
    off = read(tmp_path, **files).server_off("memory", URL)
    assert off is None if by is None else off and str(tmp_path / by) in off


def test_a_server_may_be_switched_off_for_one_folder(tmp_path: Path) -> None:
    projects = {str(tmp_path / "repo"): {"disabledMcpServers": ["memory"]}}
    found = read(tmp_path, **{"home/.claude.json": {"projects": projects}})
    assert found.server_off("memory", URL) == f"it is switched off for this folder in {tmp_path / 'home/.claude.json'}"
    assert found.server_off("other", URL) is None


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no rule"),
        ({"USER": ALLOWED}, "allowed"),
        ({"PROJECT": {"permissions": {"allow": ["mcp__memory"]}}}, "allowed"),
        ({"USER": {"permissions": {"allow": ["mcp__memory__memory_*"]}}}, "allowed"),
        ({"USER": {"permissions": {"allow": ["mcp__memory__memory_search"]}}}, "no rule"),
        ({"USER": {"permissions": {"allow": ["mcp__*", "*"]}}}, "no rule"),  # it skips both
        ({"USER": "// mine\n" + json.dumps(ALLOWED)}, "no rule"),
        ({"USER": ALLOWED, "LOCAL": {"permissions": {"ask": ["mcp__memory__memory_search"]}}}, "asked"),
        ({"USER": ALLOWED, "LOCAL": {"permissions": {"deny": ["mcp__memory"]}}}, "denied"),
        ({"USER": ALLOWED, "MANAGED": {"permissions": {"deny": ["mcp__*"]}}}, "denied"),
        ({"USER": ALLOWED, "MANAGED": {"allowManagedPermissionRulesOnly": True}}, "asked"),
        ({"MANAGED": {**ALLOWED, "allowManagedPermissionRulesOnly": True}}, "allowed"),
    ],
)
def test_whether_tools_may_be_called(tmp_path: Path, files: dict, said: str) -> None:
    assert read(tmp_path, **files).permission("memory") == said
