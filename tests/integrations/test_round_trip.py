"""install, then uninstall: every file is as it was, whatever it looked like, and whatever became of it meanwhile."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from mcp_memory.integrations.clients import CLIENTS, ClientPaths
from mcp_memory.integrations.config_plan import diff
from tests.integrations.machine import install, planned, tree, uninstall

RULE = "mcp__memory__memory_*"

WITH_SERVER = [client for client in CLIENTS if client != "openclaw"]
"""OpenClaw has the tools from the plugin."""

STATES: dict[str, dict[str, bytes]] = {
    "nothing": {},
    "empty": {
        ".gemini/settings.json": b"",
        ".config/opencode/opencode.jsonc": b"\n",
        ".cursor/mcp.json": b"",
        ".config/Code/User/mcp.json": b" ",
        ".claude.json": b"",
        ".claude/settings.json": b"",
        ".claude/CLAUDE.md": b"",
        ".codex/config.toml": b"",
        ".codex/hooks.json": b"\n",
        ".codex/AGENTS.md": b"\n\n",
        ".openclaw/openclaw.json": b" ",
    },
    "empty objects": {
        ".gemini/settings.json": b'{"mcpServers": {}, "hooks": {"BeforeAgent": []}}',
        ".config/opencode/opencode.json": b'{\n  "mcp": {}\n}\n',
        ".config/Code/User/mcp.json": b'{"servers": {}, "inputs": []}',
        ".claude.json": b'{"mcpServers": {}}',
        ".claude/settings.json": b'{\n  "hooks": {\n  }\n}\n',
        ".codex/hooks.json": b"{}",
        ".codex/config.toml": b"[mcp_servers]\n# none yet\n",
        ".openclaw/openclaw.json": b"{ mcp: { servers: { } } }",
    },
    "nulls": {
        ".gemini/settings.json": b'{"mcpServers": null, "hooks": {"SessionStart": null}}',
        ".claude.json": b'{"mcpServers": null, "projects": {}}',
        ".claude/settings.json": b'{"hooks": null, "permissions": {"allow": null, "deny": []}}',
        ".codex/hooks.json": b'{"hooks": {"Stop": null}}',
        ".openclaw/openclaw.json": b"{mcp: null, plugins: null, tools: {deny: null}}",
    },
    "comments, a trailing comma, no last line end": {
        ".gemini/settings.json": b'{\n  // mine\n  "mcpServers": {"x": {"command": "y"}}, /* all */\n  "ui": {}\n}',
        ".gemini/GEMINI.md": b"Use tabs.",
        ".config/opencode/opencode.jsonc": b'{"$schema": "x", // mine\n  "mcp": {"a": {"type": "local"},},}',
        ".config/opencode/AGENTS.md": b"# Mine\r\n",
        ".cursor/mcp.json": b'{\r\n\t"mcpServers": {\r\n\t\t"x": {"url": "http://x"} // mine\r\n\t}\r\n}',
        ".config/Code/User/mcp.json": b'{\n\t"servers": {\n\t\t"x": {"command": "y"},\n\t},\n}',
        ".claude.json": b'{\r\n  "numStartups": 3,\r\n  "mcpServers": {\r\n    "other": {"command": "x"},\r\n  },\r\n}',
        ".claude/settings.json": b'{\n  // mine\n  "model": "opus", /* fast */\n  "hooks": {"Stop": []}, // all\n}',
        ".claude/CLAUDE.md": b"Use tabs.",
        ".codex/config.toml": b'model = "x" # best\n\n[mcp_servers.other]\nurl = "http://x"\n# tail',
        ".codex/hooks.json": b'{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "date"}]}]}}',
        ".codex/AGENTS.md": b"\xef\xbb\xbf# Mine\r\n",
        ".openclaw/openclaw.json": b"{gateway: {port: 1}, // mine\n}",
    },
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def make(home: Path, state: dict[str, bytes]) -> dict:
    for name, content in state.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o640)
    return tree(home)


@pytest.mark.parametrize("client", CLIENTS)
def test_an_empty_folder_that_was_there_before_stays(home: Path, client: str) -> None:
    folders = {change.file.parent for change in install(home, client)} - {home}
    uninstall(home, client)
    assert tree(home) == {}, "what was made goes"
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    before = tree(home)
    install(home, client)
    uninstall(home, client)
    assert tree(home) == before


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("state", STATES)
def test_every_byte_comes_back(home: Path, state: str, client: str) -> None:
    before = make(home, STATES[state])
    assert install(home, client)
    assert tree(home) != before
    after = tree(home)
    assert install(home, client) == []
    assert tree(home) == after, "the second time does nothing"
    uninstall(home, client)
    assert tree(home) == before
    assert uninstall(home, client) == []


@pytest.mark.parametrize("state", STATES)
def test_all_clients_share_a_home(home: Path, state: str) -> None:
    before = make(home, STATES[state])
    for client in CLIENTS:
        install(home, client)
    for client in CLIENTS:
        uninstall(home, client)
    assert tree(home) == before


def test_what_changes_meanwhile_stays(home: Path) -> None:
    """The client writes its file anew, the person adds a line: only what is ours goes, and a backup is kept."""
    make(home, STATES["empty objects"] | {".claude/CLAUDE.md": b"Use tabs.\n"})
    install(home, "claude-code")
    config, text = home / ".claude.json", home / ".claude" / "CLAUDE.md"
    config.write_text(json.dumps({**json.loads(config.read_text()), "numStartups": 1}))
    text.write_text(f"First.\n{text.read_text()}Last.\n")
    uninstall(home, "claude-code")
    assert json.loads(config.read_text()) == {"mcpServers": {}, "numStartups": 1}
    assert text.read_text() == "First.\nUse tabs.\nLast.\n"
    backups = [f".claude.json.mcp-memory-20261122-120000{number}.bak" for number in ("-001", "")]
    assert sorted(place.name for place in home.iterdir() if place.suffix == ".bak") == backups


def test_the_trust_that_codex_notes_down_goes_with_the_hooks(home: Path) -> None:
    before = make(home, {".codex/config.toml": b'[hooks.state."/other:stop:0:0"]\ntrusted_hash = "sha256:1"\n'})
    install(home, "codex")
    config = home / ".codex" / "config.toml"
    key = f"{home / '.codex' / 'hooks.json'}:session_start:0:0"
    with config.open("a") as file:
        file.write(f'\n[hooks.state."{key}"]\ntrusted_hash = "sha256:2"\n')
    uninstall(home, "codex")
    assert tree(home) == before


@pytest.mark.parametrize("state", STATES)
def test_the_trust_that_a_person_tells_us_of_goes_with_the_hooks(home: Path, state: str) -> None:
    before = make(home, STATES[state])
    first = 1 if "comments" in state else 0  # somebody's own comes before ours
    hashes = {
        f"{home / '.codex' / 'hooks.json'}:{name}:{group}:0": f"sha256:{name}"
        for name, group in (("session_start", first), ("user_prompt_submit", 0))
    }
    (shown, *_) = planned(home, "codex", hashes=hashes)
    assert '+trusted_hash = "sha256:session_start"' in diff(shown, "x")
    install(home, "codex", hashes=hashes)
    state_of = tomllib.loads((home / ".codex" / "config.toml").read_text())["hooks"]["state"]
    assert {key: each["trusted_hash"] for key, each in state_of.items()} == hashes
    assert install(home, "codex", hashes=hashes) == install(home, "codex") == []
    uninstall(home, "codex")
    assert tree(home) == before


def test_a_persons_own_hook_stays(home: Path) -> None:
    """One that calls ours, and does something besides."""
    handler = {"type": "command", "command": "mcp-memory hook prompt --client claude-code ; notify-send hi"}
    hooks = {"hooks": {"UserPromptSubmit": [{"hooks": [handler]}]}}
    before = make(home, {".claude/settings.json": json.dumps(hooks).encode()})
    install(home, "claude-code")
    uninstall(home, "claude-code")
    assert tree(home) == before


def test_a_new_address_replaces_the_old_one(home: Path) -> None:
    before = make(home, STATES["comments, a trailing comma, no last line end"])
    for client in ("claude-code", "codex"):
        install(home, client, hooks=False)
        (file,) = install(home, client, url="http://127.0.0.1:9/mcp", hooks=False)
        text = file.file.read_text()
        assert "127.0.0.1:9/mcp" in text
        assert "8423" not in text
        uninstall(home, client)
    assert tree(home) == before


@pytest.mark.parametrize("client", WITH_SERVER)
def test_another_name_takes_the_place_of_the_first(home: Path, client: str) -> None:
    make(home, STATES["nothing"])
    install(home, client, hooks=False)
    install(home, client, name="notes", hooks=False)
    config = _config(home, client)
    assert "notes" in config
    assert not re.search(r'"memory"|\[mcp_servers.memory\]', config)
    assert install(home, client, hooks=False) == [], "the name that was chosen stays"
    uninstall(home, client)
    assert "notes" not in tree(home)


@pytest.mark.parametrize("client", WITH_SERVER)
def test_two_vaults_of_one_folders_name_are_two_servers(home: Path, client: str) -> None:
    """Each is found again under its own name, and goes without the other."""
    make(home, STATES["nothing"])
    install(home, client, vault="/srv/notes", name_of_vault="memory-notes", hooks=False)
    alone = tree(home)
    install(home, client, vault="/home/notes", name_of_vault="memory-notes", hooks=False)
    assert re.search(r'"memory-notes-2"|\[mcp_servers.memory-notes-2\]', _config(home, client))
    for vault in ("/srv/notes", "/home/notes"):
        assert install(home, client, vault=vault, name_of_vault="memory-notes", hooks=False) == []
    uninstall(home, client, vault="/home/notes")
    config = _config_name(client)
    assert tree(home)[config] == alone[config]


def test_without_hooks(home: Path) -> None:
    before = tree(home)
    install(home, "claude-code", hooks=False)
    assert json.loads((home / ".claude" / "settings.json").read_text()) == {"permissions": {"allow": [RULE]}}
    assert len(install(home, "claude-code")) == 1, "they can be had later"
    uninstall(home, "claude-code")
    assert tree(home) == before


def test_the_permission_is_a_rule_and_a_persons_own_word_counts_more(home: Path) -> None:
    file = home / ".claude" / "settings.json"
    install(home, "claude-code", hooks=False, name="notes")
    assert json.loads(file.read_text())["permissions"] == {"allow": ["mcp__notes__memory_*"]}
    install(home, "claude-code", hooks=False, name="memory")
    assert json.loads(file.read_text())["permissions"] == {"allow": [RULE]}, "the rule goes with the name"
    file.write_text(json.dumps({"permissions": {"allow": ["Bash(ls)", RULE]}, "model": "opus"}))
    uninstall(home, "claude-code")
    assert json.loads(file.read_text()) == {"permissions": {"allow": ["Bash(ls)"]}, "model": "opus"}
    for said in (
        {"allow": ["mcp__memory"]},
        {"allow": ["mcp__memory__*"]},
        {"ask": ["mcp__memory__memory_forget"]},
        {"deny": ["mcp__memory"]},
    ):
        file.write_text(json.dumps({"permissions": said}))
        install(home, "claude-code", hooks=False)
        assert json.loads(file.read_text()) == {"permissions": said}
        uninstall(home, "claude-code")
        assert json.loads(file.read_text()) == {"permissions": said}


def test_a_rule_for_anothers_server_is_left_alone(home: Path) -> None:
    before = make(
        home,
        {
            ".claude.json": b'{"mcpServers": {"memory": {"command": "npx"}}}',
            ".claude/settings.json": json.dumps({"permissions": {"allow": [RULE]}}).encode(),
        },
    )
    uninstall(home, "claude-code")
    assert tree(home) == before


def test_a_project_holds_no_token(home: Path) -> None:
    (home / "repo").mkdir()
    for client in ("claude-code", "codex"):
        install(home, client, scope="project")
    assert {str(place.relative_to(home / "repo")) for place in (home / "repo").rglob("*") if place.is_file()} == {
        ".mcp.json", ".claude/settings.json", "CLAUDE.md", ".codex/config.toml", ".codex/hooks.json", "AGENTS.md",
    }  # fmt: skip
    for client in ("claude-code", "codex"):
        uninstall(home, client, scope="project")
    assert list(tree(home)) == ["repo"]


OTHERS = {
    "a line": '{"mcpServers": {"x": {"h": {"Authorization": "Bearer hidden"}, "env": {"GH_TOKEN": "hidd\\"en"}}}}',
    "lines": """{
  "mcpServers": {
    "x": {
      "args": ["--api-key", "hidden", "--token=hidden", "https://x/?secret=hidden"],
      "more": ["--header", "Authorization: Bearer hidden", "Cookie: a=1; b=hidden"],
      "password" : 'hidden', // hi
      "X-Api-Key": "hidden",
      "apiKeys": ["hidden",
        "hidden"],
      "headers": ["Bearer hidden"],
    },
  },
}""",
}


@pytest.mark.parametrize("written", OTHERS)
def test_a_diff_shows_no_secret_of_others(home: Path, written: str) -> None:
    text = OTHERS[written]
    make(home, {".claude.json": text.encode(), ".openclaw/openclaw.json": text.encode()})
    changes = [*planned(home, "claude-code"), *planned(home, "openclaw")]
    shown = "".join(diff(change, "x") for change in changes)
    assert "hidd" not in shown
    assert "…" in shown
    assert "/opt/mcp-memory headers --client claude-code" in shown


def test_a_diff_shows_no_secret_in_toml(home: Path) -> None:
    make(
        home,
        {".codex/config.toml": b"[mcp_servers.x]\nbearer_token = 'hidden'\nenv = { API_KEY = \"hidden\", A = 1 }\n"},
    )
    shown = "".join(diff(change, "x") for change in planned(home, "codex"))
    assert "hidden" not in shown
    assert 'API_KEY = "…", A = 1' in shown


def _config(home: Path, client: str) -> str:
    return (home / _config_name(client)).read_text()


def _config_name(client: str) -> str:
    return str(CLIENTS[client].config_file("user", ClientPaths(Path(), {})))
