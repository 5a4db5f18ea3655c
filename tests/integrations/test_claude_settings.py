"""What Claude Code 2.1.329 does with each of these settings, as it was seen to do it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_memory.integrations.clients import ClientPaths
from mcp_memory.integrations.clients.claude_code import ClaudeSettings

ALLOWED = {"permissions": {"allow": ["mcp__memory__*"]}}

USER, PROJECT, LOCAL = "home/.claude/settings.json", "repo/.claude/settings.json", "repo/.claude/settings.local.json"


def read(root: Path, **files: object) -> ClaudeSettings:
    for name, content in files.items():
        file = root / globals().get(name, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return ClaudeSettings.read(ClientPaths(root / "home", {}, root / "repo"))


@pytest.mark.parametrize(
    ("files", "by"),
    [
        ({}, None),
        ({"USER": {"disableAllHooks": True}}, USER),
        ({"PROJECT": {"disableAllHooks": True}}, PROJECT),
        ({"LOCAL": {"disableAllHooks": True}}, LOCAL),
        ({"USER": {"disableAllHooks": True}, "LOCAL": {"disableAllHooks": False}}, None),
        ({"LOCAL": '// mine\n{"disableAllHooks": true}'}, None),  # it loads no such file
    ],
)
def test_whether_hooks_run(tmp_path: Path, files: dict, by: str | None) -> None:
    off = read(tmp_path, **files).hooks_off()
    assert off is None if by is None else off and off.endswith(f"in {tmp_path / by}")


def test_a_server_may_be_switched_off_for_one_folder(tmp_path: Path) -> None:
    projects = {str(tmp_path / "repo"): {"disabledMcpServers": ["memory"]}}
    found = read(tmp_path, **{"home/.claude.json": {"projects": projects}})
    assert found.server_off("memory") == f"it is switched off for this folder in {tmp_path / 'home/.claude.json'}"
    assert found.server_off("other") is None


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
    ],
)
def test_whether_tools_may_be_called(tmp_path: Path, files: dict, said: str) -> None:
    assert read(tmp_path, **files).permission("memory") == said
