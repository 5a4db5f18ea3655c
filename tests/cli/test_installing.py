"""install says what keeps a client from using what it writes."""

from __future__ import annotations

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


def test_what_switches_memory_off_is_said(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By yourself, or by an organization: the files are written, and do nothing."""
    managed = tmp_path / "managed.json"
    managed.write_text('{"hooksConfig": {"enabled": false}, "mcp": {"excluded": ["memory"]}}')
    monkeypatch.setenv("GEMINI_CLI_SYSTEM_SETTINGS_PATH", str(managed))
    own = tmp_path / "home" / ".claude" / "settings.json"
    own.parent.mkdir()
    own.write_text('{"disableAllHooks": true, "deniedMcpServers": [{"serverName": "memory"}]}')
    for client, server, hooks in (
        ("gemini", f"mcp.allowed or mcp.excluded in {managed}", f"hooksConfig.enabled = false in {managed}"),
        ("claude-code", f"deniedMcpServers in {own}", f"disableAllHooks in {own}"),
    ):
        steps = _install(settings, client).next_steps
        assert any(step.endswith(f"won't use the server: {server}") for step in steps)
        assert f"{hooks} switches our hooks off, too" in steps
