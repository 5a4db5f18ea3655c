"""What install makes of a client's file in each form that people and clients leave it in; or how it refuses it."""

from __future__ import annotations

import json
import os
import stat
from datetime import datetime
from pathlib import Path

import pytest

from mcp_memory.cli.clients.config_changes import InstallPlan
from mcp_memory.cli.clients.installing import find_client_paths, plan_connection, plan_disconnection
from mcp_memory.errors import Refused
from mcp_memory.integrations import config_files, jsonc, toml
from mcp_memory.integrations.clients import OVER_STDIO, PROGRAMS, config_file
from mcp_memory.settings.settings import Settings, load
from tests.integrations.machine import tree

FORMATS = {"claude-code": ("json", "mcpServers"), "codex": ("toml", "mcp_servers"), "openclaw": ("json", "plugins")} | {
    name: ("json", client.path[0]) for name, client in OVER_STDIO.items()
}
PLAIN_JSON = {"claude-code"}
"""Clients that load no configuration with a comment."""
READERS = {"json": jsonc.value_of, "toml": toml.value_of}
FORMS = {
    "comment": {"json": '{\n  // mine\n  "z": 1\n}\n', "toml": '# mine\nz = "x" # y\n'},
    "null": {"json": '{"KEY": null, "z": [null]}'},  # TOML has none
    "inline": {
        "json": '{"z": {"a": [1, {"b": 2}]}, "KEY": {"entries": {"a": {}}}}',
        "toml": 'KEY = { other = { command = "x" } }\n',
    },
    "linked": {"json": "{}\n", "toml": ""},
}


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
    plan = plan_connection(settings, client, "user", is_trusted=lambda _: False, dry_run=True)
    _apply(plan)
    return plan


def _apply(plan: InstallPlan) -> None:
    for change in plan.changes:
        config_files.check(change)
    for change in plan.changes:
        config_files.apply(change, datetime(2026, 11, 22, 12))


@pytest.mark.parametrize(
    ("form", "client"), [(form, client) for form in FORMS for client in PROGRAMS if FORMATS[client][0] in FORMS[form]]
)
def test_a_file_in_each_form(settings: Settings, tmp_path: Path, form: str, client: str) -> None:
    kind, key = FORMATS[client]
    file = config_file(client, "user", find_client_paths())
    assert file is not None
    text = FORMS[form][kind].replace("KEY", key)
    real = tmp_path / "dotfiles" / file.name if form == "linked" else file
    for folder in (file.parent, real.parent):
        folder.mkdir(parents=True, exist_ok=True)
    real.write_text(text)
    real.chmod(0o644)
    if form == "linked":
        file.symlink_to(os.path.relpath(real, file.parent))
    before = tree(tmp_path)

    if form == "comment" and client in PLAIN_JSON:
        with pytest.raises(Refused, match=f"loads nothing of {file}: line 2, column 3"):
            _install(settings, client)
        assert tree(tmp_path) == before
        return
    if form == "inline" and kind != "json":
        with pytest.raises(Refused, match=str(file)) as refused:
            _install(settings, client)
        assert tree(tmp_path) == before
        ours = (refused.value.hint or "").partition("by hand, then try again: ")[2]
        head, end, tail = text.rpartition("}")
        real.write_text(f"{head.rstrip()}, {ours}{end}{tail}")  # as the refusal says
        _install(settings, client)
        assert ours in real.read_text() and not _install(settings, client).changes
        return
    _install(settings, client)
    assert not _install(settings, client).changes, "the second time does nothing"
    value, old = READERS[kind](real.read_text()), READERS[kind](text)
    assert "memory" in json.dumps(value[key]) and all(value[name] == old[name] for name in old if name != key)
    assert stat.S_IMODE(real.stat().st_mode) == 0o644 and file.is_symlink() == (form == "linked")
    _apply(plan_disconnection(settings, client, "user"))
    assert tree(tmp_path) == before


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
