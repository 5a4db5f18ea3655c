"""install says what keeps a client from using what it writes."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

import pytest

from mcp_memory.cli.clients.config_changes import InstallPlan
from mcp_memory.cli.clients.installing import plan_connection
from mcp_memory.integrations import config_files
from mcp_memory.settings.settings import Settings, load


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Those of somebody whose home is `home`."""
    (tmp_path / "home").mkdir()
    for name in [name for name in os.environ if name.startswith(("MCP_MEMORY_", "XDG_", "CLAUDE_", "CODEX_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    return load(os.environ)


def _install(settings: Settings, client: str) -> InstallPlan:
    plan = plan_connection(settings, client, "user")
    for change in plan.changes:
        config_files.apply(change, datetime(2026, 11, 22, 12))
    return plan


def test_what_switches_memory_off_is_said(settings: Settings, tmp_path: Path) -> None:
    """The files are written, and do nothing."""
    gemini, claude = (tmp_path / "home" / name for name in (".gemini/settings.json", ".claude/settings.json"))
    for file in (gemini, claude):
        file.parent.mkdir()
    gemini.write_text('{"hooksConfig": {"enabled": false}, "mcp": {"excluded": ["memory"]}}')
    claude.write_text('{"disableAllHooks": true}')
    off_here = {"projects": {str(tmp_path): {"disabledMcpServers": ["memory"]}}}
    (config := tmp_path / "home/.claude.json").write_text(json.dumps(off_here))
    for client, server, hooks in (
        ("gemini", f"mcp.allowed or mcp.excluded in {gemini}", f"hooksConfig.enabled = false in {gemini}"),
        ("claude-code", f"it is switched off for this folder in {config}", f"disableAllHooks in {claude}"),
    ):
        steps = _install(settings, client).next_steps
        assert any(step.endswith(f"won't use the server: {server}") for step in steps)
        assert f"{hooks} turns off our hooks, too" in steps


@pytest.mark.parametrize(("client", "file", "text", "is_on"), [
    ("claude-code", ".claude/settings.json", "{}", True),
    ("claude-code", ".claude/settings.json", '{"autoMemoryEnabled": false}', False),
    ("codex", ".codex/config.toml", "", False),
    ("codex", ".codex/config.toml", "features = { memories = true }", True),
    ("gemini", ".gemini/settings.json", '{"experimental": {"autoMemory": true}}', True),
    ("gemini", ".gemini/settings.json", '{"experimental": 3}', False),
    ("cursor", ".cursor/mcp.json", "{}", False),
])  # fmt: skip
def test_a_second_memory_is_named(
    settings: Settings, tmp_path: Path, client: str, file: str, text: str, is_on: bool
) -> None:
    place = tmp_path / "home" / file
    place.parent.mkdir()
    place.write_text(text)
    steps = plan_connection(settings, client, "user").next_steps
    assert any(f"to false in {place}" in step for step in steps) is is_on
