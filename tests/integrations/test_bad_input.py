"""Files that cannot or must not be edited: each is refused with its name and what to do, before any file is written."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from mcp_memory.errors import Busy, PreconditionFailed, Refused, StorageFailed
from mcp_memory.integrations import config_files
from mcp_memory.integrations.clients import CLIENTS, ClientPaths, find_client
from tests.integrations.machine import NOON, install, planned, tree, uninstall

BROKEN = {
    "claude-code": (".claude.json", b'{"mcpServers": {', "line 1, column 17"),
    "codex": (".codex/config.toml", b"a = 1\nb = \n", "line 2"),
    "openclaw": (".openclaw/openclaw.json", b"{mcp: }", "line 1, column 7"),
    "gemini": (".gemini/settings.json", b'{"mcpServers": {} "ui": {}}', "line 1, column 19"),
    "opencode": (".config/opencode/opencode.jsonc", b'{"mcp": {},, }', "line 1, column 12"),
    "cursor": (".cursor/mcp.json", b'{"mcpServers": {"a": {} "b"}}', "line 1, column 25"),
    "vscode": (".config/Code/User/mcp.json", b'{"servers": [}', "line 1, column 14"),
}


def put(file: Path, content: bytes, mode: int = 0o644) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("client", BROKEN)
def test_a_broken_file_is_left_alone(tmp_path: Path, client: str) -> None:
    name, content, where = BROKEN[client]
    put(tmp_path / name, content)
    before = tree(tmp_path)
    for command in (install, uninstall):
        with pytest.raises(Refused) as refused:
            command(tmp_path, client)
        assert name in refused.value.message
        assert where in refused.value.message
        assert "nothing was changed" in (refused.value.hint or "")
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        (".claude.json", b'{"a": "\xff"}', "byte 7 is not UTF-8"),
        (".claude.json", b"[]", "the document is not an object"),
        (".claude/settings.json", b'{"hooks": []}', "hooks is not an object"),
        (".claude/settings.json", b'{"hooks": {"SessionStart": {}}}', "hooks.SessionStart is not a list"),
        (".claude/CLAUDE.md", b"<!-- mcp-memory ends -->", "marks"),
        (".gemini/settings.json", b'{"hooks": {"BeforeAgent": "x"}}', "hooks.BeforeAgent is not a list"),
        (".cursor/mcp.json", b'{"mcpServers": {}, "mcpServers": {}}', "'mcpServers' occurs twice"),
    ],
)
def test_what_is_in_the_way_is_named(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    put(tmp_path / name, content)
    before = tree(tmp_path)
    client = next((client for client in ("gemini", "cursor") if client in name), "claude-code")
    with pytest.raises(Refused) as refused:
        install(tmp_path, client)
    assert why in refused.value.message
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("client", "name", "content"),
    [
        ("claude-code", ".claude.json", b'{"mcpServers": {"memory": {"command": "npx", "args": ["server-memory"]}}}'),
        ("codex", ".codex/config.toml", b'[mcp_servers.memory]\ncommand = "npx"\n'),
        ("codex", ".codex/config.toml", b"mcp_servers = { memory = { command = 'npx' } }\n"),
        ("gemini", ".gemini/settings.json", b'{"mcpServers": {"memory": {"command": "mcp-memory", "args": ["x"]}}}'),
        ("opencode", ".config/opencode/opencode.json", b'{"mcp": {"memory": {"type": "remote", "url": "http://x"}}}'),
        ("vscode", ".config/Code/User/mcp.json", b'{"servers": {"memory": {"command": "./mcp-memory"}}}'),
    ],
)  # fmt: skip
def test_another_server_of_that_name_is_not_overwritten(tmp_path: Path, client: str, name: str, content: bytes) -> None:
    file = put(tmp_path / name, content)
    with pytest.raises(Refused) as refused:
        install(tmp_path, client, hooks=False)
    assert "'memory'" in refused.value.message
    assert "--name" in (refused.value.hint or "")
    assert file.read_bytes() == content
    if not content.startswith(b"mcp_servers ="):
        install(tmp_path, client, name="notes")
        assert uninstall(tmp_path, client)
    assert file.read_bytes() == content


def test_a_project_that_has_an_entry_already(tmp_path: Path) -> None:
    content = b'{"mcpServers": {"memory": {"type": "stdio", "command": "npx"}}}'
    put(tmp_path / "repo" / ".mcp.json", content)
    with pytest.raises(Refused, match="--name"):
        install(tmp_path, "claude-code", scope="project")
    assert list(tree(tmp_path)) == ["repo", "repo/.mcp.json"]


def test_a_link_into_a_dotfiles_repository_stays_a_link(tmp_path: Path) -> None:
    home, dotfiles = tmp_path / "home", tmp_path / "dotfiles"
    put(dotfiles / "claude" / "settings.json", b"{\n  // mine\n}\n", 0o640)
    put(dotfiles / "codex.toml", b"model = 'x'\n")
    (home / ".codex").mkdir(parents=True)
    (home / ".claude").symlink_to(dotfiles / "claude")
    (home / ".codex" / "config.toml").symlink_to("../../dotfiles/codex.toml")
    (home / ".claude.json").symlink_to(dotfiles / "new.json")  # which is not there yet
    put(dotfiles / "config" / "opencode" / "opencode.jsonc", b"{} // mine\n", 0o644)
    (home / ".config").symlink_to(dotfiles / "config")
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").symlink_to(put(dotfiles / "gemini.json", b"{}\n"))
    before = tree(tmp_path)
    clients = ("claude-code", "codex", "gemini", "opencode")
    for client in clients:
        install(home, client)
    assert "trust" in (dotfiles / "gemini.json").read_text() and (home / ".gemini" / "settings.json").is_symlink()
    assert (dotfiles / "config" / "opencode" / "opencode.jsonc").stat().st_mode & 0o777 == 0o644
    assert (home / ".claude").is_symlink()
    assert (home / ".codex" / "config.toml").is_symlink()
    assert "memory" in json.loads((dotfiles / "new.json").read_text())["mcpServers"]
    assert "mcp_servers.memory" in (dotfiles / "codex.toml").read_text()
    assert (dotfiles / "claude" / "settings.json").stat().st_mode & 0o777 == 0o640
    assert not list(dotfiles.glob("*.bak")), "backups lie beside the link"
    for client in clients:
        uninstall(home, client)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("link", "leads_to"),
    [
        ("CLAUDE.md", "../.bashrc"),
        (".claude", "../.claude"),
        (".mcp.json", "../new.json"),
        ("CLAUDE.md", ".git/config"),
    ],
)
def test_a_strangers_repository_leads_to_no_file_outside_it(tmp_path: Path, link: str, leads_to: str) -> None:
    put(tmp_path / ".bashrc", b"umask 077\n")
    put(tmp_path / ".claude" / "settings.json", b"{}")
    put(tmp_path / "repo" / ".git" / "config", b"[core]\n")
    (tmp_path / "repo" / link).symlink_to(leads_to)
    before = tree(tmp_path)
    with pytest.raises(Refused) as refused:
        install(tmp_path, "claude-code", scope="project")
    assert f"repo/{link}" in refused.value.message
    assert "leads out of the repository" in refused.value.message
    assert "--scope user" in (refused.value.hint or "")
    assert tree(tmp_path) == before


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    put(tmp_path / ".claude" / "settings.json", b"{}", 0o444)
    before = tree(tmp_path)
    with pytest.raises(Refused) as refused:
        install(tmp_path, "claude-code")
    assert "is read-only" in refused.value.message
    assert "chmod u+w" in (refused.value.hint or "")
    assert tree(tmp_path) == before, "not even the files before it"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_users_file_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path / ".codex" / "config.toml", tmp_path / ".claude"):
        (put(place, b"") if place.suffix else place.mkdir()) and None
        os.chown(place, 1234, 1234)
    before = tree(tmp_path)
    for client, why in (("codex", "belongs to user 1234"), ("claude-code", "you may not write to")):
        with pytest.raises(Refused, match=why):
            install(tmp_path, client)
    assert tree(tmp_path) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_group_and_mode_stay(tmp_path: Path) -> None:
    file = put(tmp_path / ".claude.json", b"{}", 0o660)
    os.chown(file, -1, 1234)
    install(tmp_path, "claude-code")
    facts = file.stat()
    assert (stat.S_IMODE(facts.st_mode), facts.st_uid, facts.st_gid) == (0o660, os.geteuid(), 1234)


def test_what_is_made_for_a_client_is_private_from_the_start(tmp_path: Path) -> None:
    """Clients put their own tokens into these files later, and leave the mode as they find it."""
    before = os.umask(0o022)
    try:
        for client in ("claude-code", "codex", "openclaw"):
            install(tmp_path, client)
    finally:
        os.umask(before)
    made = [place for place in tmp_path.rglob("*") if place.is_file()]
    assert len(made) >= 6
    assert {stat.S_IMODE(place.stat().st_mode) for place in made} == {0o600}
    assert {stat.S_IMODE(place.stat().st_mode) for place in tmp_path.iterdir() if place.is_dir()} == {0o700}


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_a_folder_that_you_may_not_enter_is_named(tmp_path: Path, client: str) -> None:
    """Also where another client looks into it."""
    (closed := tmp_path / "closed").mkdir(mode=0)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        assert closed not in (place.parent for place in find_client(client, ClientPaths(closed, {})))
        with pytest.raises(StorageFailed, match=str(closed)):
            planned(closed, client)
    finally:
        if is_root:
            os.seteuid(0)


def test_a_mark_that_is_gone_is_named(tmp_path: Path) -> None:
    install(tmp_path, "claude-code")
    file = tmp_path / ".claude" / "CLAUDE.md"
    file.write_text(file.read_text().replace("<!-- mcp-memory ends -->\n", "Use tabs.\n"))
    for command in (install, uninstall):
        with pytest.raises(Refused) as refused:
            command(tmp_path, "claude-code")
        assert f"{file}: the line <!-- mcp-memory ends -->, which ends mcp-memory" in refused.value.message
        assert "put it back" in (refused.value.hint or "")


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").mkdir()
    with pytest.raises(Refused, match="not a regular file"):
        install(tmp_path, "claude-code")
    os.mkfifo(put(tmp_path / ".codex" / "x", b"").with_name("hooks.json"))
    with pytest.raises(Refused, match="not a regular file"):
        install(tmp_path, "codex")
    os.mkfifo(tmp_path / "CLAUDE.md.mcp-memory-20261122-120000.bak")
    with pytest.raises(Refused, match="not a regular file"):
        config_files.backups(tmp_path / "CLAUDE.md")
    (tmp_path / ".openclaw").symlink_to(".openclaw")
    with pytest.raises((Refused, StorageFailed)):
        install(tmp_path, "openclaw")


def test_a_file_that_changes_after_the_diff_is_not_overwritten(tmp_path: Path) -> None:
    file = put(tmp_path / ".claude.json", b"{}")
    change = planned(tmp_path, "claude-code")[0]
    file.write_bytes(b'{"numStartups": 1}')
    with pytest.raises(PreconditionFailed):
        config_files.apply(change, NOON)
    assert file.read_bytes() == b'{"numStartups": 1}'
    assert sorted(tree(tmp_path)) == [".claude.json"]


def test_claude_codes_own_lock_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change = planned(tmp_path, "claude-code")[0]
    lock = tmp_path / ".claude.json.lock"
    lock.mkdir()
    monkeypatch.setattr(config_files, "LOCK_S", 0.1)
    with pytest.raises(Busy):
        config_files.apply(change, NOON)
    assert list(tree(tmp_path)) == [".claude.json.lock"]
    os.utime(lock, (1, 1))  # left by a process that died
    config_files.apply(change, NOON)
    assert list(tree(tmp_path)) == [".claude.json"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(tmp_path / ".codex" / "config.toml", b"a = 1\n")
    change = planned(tmp_path, "codex")[0]

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(StorageFailed, match="the disk is full"):
        patched.setattr(os, "fsync", full)
        config_files.apply(change, NOON)
    assert file.read_bytes() == b"a = 1\n"
    assert list(tree(tmp_path)) == [".codex", ".codex/config.toml"]
