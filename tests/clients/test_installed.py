"""The real clients after `mcp-memory install`: they find the memory. After `uninstall` their files are as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_memory.integrations.clients import CLIENTS
from tests.clients.agents import (
    CLAUDE_PREFIX,
    Agent,
    claude_environ,
    codex_model,
    doctored,
    find_in_claude,
    first_request,
)
from tests.clients.machine import Machine, serving
from tests.clients.programs import Programs, run
from tests.clients.stubs import AnthropicStub, OpenAIStub, call
from tests.hooks.client import PATIENT
from tests.integrations.machine import tree
from tests.support.world import EXHAUSTIVE


@pytest.fixture
def home(served: Machine) -> Path:
    """With configurations in it of which every byte must come back."""
    for name, text in {
        ".claude.json": '{"mcpServers": {}, "projects": {}}',
        ".claude/settings.json": '{\n  "permissions": {"allow": ["Bash(ls)"]}\n}\n',
        ".claude/CLAUDE.md": "Use tabs.",
    }.items():
        file = served.home / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return served.home


def configuration(home: Path) -> dict:
    """What people and `install` write, not what clients note down for themselves."""
    names = (".claude", ".claude.json", ".codex", ".openclaw")
    mine = (".json", ".toml", ".md", ".env", ".bak", "folder")
    return {
        name: content
        for name, content in tree(home).items()
        if name.startswith(names) and name.endswith(mine) and name.count("/") < 2
    }


def test_claude_code(served: Machine, home: Path, anthropic: AnthropicStub) -> None:
    before = configuration(home)
    served.mcp_memory("install", "claude-code", "--yes", "--no-hooks")
    environ = claude_environ(served, anthropic)
    assert doctored(served, "claude-code")["tools"] == {"memory": "allowed"}
    assert "✔ Connected" in run("claude", "mcp", "list", environ=environ, cwd=home).succeeded().out
    talk = Agent(served, anthropic, ("claude", "-p"), environ).ask(
        find_in_claude("memory_append"),
        call("memory_append", content="The mill at Rya grinds on Thursdays.", kind="fact"),
        call("memory_search", query="when does the mill grind"),
    )
    assert talk.receipt(2)["hits"][0]["id"] == talk.receipt(1)["id"]
    assert talk.called[1:] == [CLAUDE_PREFIX + "memory_append", CLAUDE_PREFIX + "memory_search"]
    assert "Store at once what a later session" in anthropic.raw_log, "the instructions are in front of the model"
    assert "claude-code" in json.loads(served.mcp_memory("status", "--json").out)["clients"]
    served.mcp_memory("uninstall", "claude-code", "--yes")
    after = configuration(home)
    own = json.loads((home / ".claude.json").read_text(encoding="utf-8"))
    assert own["mcpServers"] == {}, "Claude Code has written this file meanwhile: ours is out, all else is there"
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert {name for name in changed if not name.startswith((".claude.json", ".claude/."))} == set()


@pytest.mark.skipif(not EXHAUSTIVE, reason="a dozen starts of the client; MCP_MEMORY_EXHAUSTIVE=1")
def test_what_claude_code_does_not_go_by_is_not_called_fine(
    served: Machine, home: Path, anthropic: AnthropicStub
) -> None:
    """It loads no settings with a comment, and a project's local ones may switch the hooks off: the doctor sees it."""
    served.mcp_memory("install", "claude-code", "--yes")
    environ = {**claude_environ(served, anthropic), **PATIENT}
    agent = Agent(served, anthropic, ("claude", "-p"), environ)
    search = (find_in_claude("memory_search"), call("memory_search", query="anything"))
    assert "confidence" in agent.ask(*search).heard[1], "`claude -p` is allowed to call it"
    fine = doctored(served, "claude-code")
    assert {*fine["hooks"].values()} == {"trusted"} and fine["todo"] == []
    assert fine["last_hook"].startswith(("stop, 20", "session-end, 20")) and fine["last_call"]

    settings = home / ".claude" / "settings.json"
    text = settings.read_text()
    settings.write_text(f"// mine\n{text}")
    assert "requested permissions" in agent.ask(*search).heard[1]
    blind = doctored(served, "claude-code")
    assert {*blind["hooks"].values()} == {"unread"} and blind["tools"] == {"memory": "no rule"}
    assert any(f"loads nothing of {settings}: line 1, column 1" in line for line in blind["todo"])
    settings.write_text(text)

    local = home / ".claude" / "settings.local.json"
    local.write_text('{"disableAllHooks": true, "permissions": {"deny": ["mcp__memory"]}}')
    assert {*doctored(served, "claude-code")["hooks"].values()} == {"off"}
    assert any(f"disableAllHooks in {local}" in line for line in doctored(served, "claude-code")["todo"])
    assert doctored(served, "claude-code")["tools"] == {"memory": "denied"}
    local.unlink()
    served.mcp_memory("uninstall", "claude-code", "--yes")


def test_codex(served: Machine, openai: OpenAIStub) -> None:
    home = served.home
    config = home / ".codex" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(codex_model(openai), encoding="utf-8")
    before = configuration(home)
    served.mcp_memory("append", "-k", "preference", "Ada likes her tests slow and honest.")
    shown = served.mcp_memory("install", "codex", "--dry-run", "--trust-hooks").out
    assert "+trusted_hash = " in shown and configuration(home) == before
    served.mcp_memory("setup", "--yes", "--no-past", "--client", "codex")  # as install with --trust-hooks
    assert "until you trust it" not in served.mcp_memory("install", "codex", "--yes").out, "it stands there"
    environ = served.environ(STUB_KEY="stub", **PATIENT)
    (listed,) = json.loads(run("codex", "mcp", "list", "--json", environ=environ, cwd=home).succeeded().out)
    assert (listed["name"], listed["enabled"]) == ("memory", True)
    agent = Agent(served, openai, ("codex", "exec", "--skip-git-repo-check"), environ)
    talk = agent.ask(call("memory_search", query="anything"))
    assert "confidence" in talk.receipt(0)
    assert "slow and honest" in first_request(openai, "/responses"), "the hooks run though nobody was asked by Codex"
    codex = doctored(served, "codex")
    assert {*codex["hooks"].values()} == {"trusted"} and len(codex["hooks"]) == len(CLIENTS["codex"].hooks)
    assert "Store at once what a later session" in openai.raw_log, "the instructions are in front of the model"
    (shown,) = json.loads(run("codex", "mcp", "list", "--json", environ=environ, cwd=home).succeeded().out)
    assert (shown["tool_timeout_sec"], shown["startup_timeout_sec"]) == (60, 45)

    text, override = config.read_text(), config.with_name("AGENTS.override.md")
    config.write_text(text.replace("features = {", "features = { hooks = false,"))
    override.write_text("Use tabs.\n")
    codex = doctored(served, "codex")
    assert {*codex["hooks"].values()} == {"off"}
    assert any(f"features.hooks = false in {config}" in line for line in codex["todo"])
    assert any(f"Codex reads {override} instead" in line for line in codex["todo"])
    config.write_text(text)
    override.unlink()

    config.write_text(text.replace(f":{served.port}/", ":9/"))
    again = served.mcp_memory("install", "codex", "--yes").out
    assert "until you trust it" not in again, "another address leaves the trust in the hooks as it was"
    hooks = config.with_name("hooks.json")
    wired = hooks.read_text()
    hooks.write_text(f"// mine\n{wired}")
    refused = run("mcp-memory", "install", "codex", "--yes", "--trust-hooks", environ=environ, cwd=home)
    assert f"loads nothing of {hooks}: line 1, column 1" in refused.err
    assert {*doctored(served, "codex")["hooks"].values()} == {"unread"}
    hooks.write_text(wired)
    served.mcp_memory("uninstall", "codex", "--yes")
    config.write_text(codex_model(openai), encoding="utf-8")
    for backup in config.parent.glob("config.toml.mcp-memory-*"):
        backup.unlink()  # of the file with the other address
    assert configuration(home) == before


def test_codex_finds_the_memory_of_another_state_folder(
    programs: Programs, model_cache: Path, openai: OpenAIStub, tmp_path: Path
) -> None:
    """It gives our headers helper none of the variables that say where that is."""
    machine = Machine.make(tmp_path / "home", programs)
    state = {"XDG_STATE_HOME": str(tmp_path / "state of mine")}
    environ = machine.environ(STUB_KEY="stub", **state)
    config = machine.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(codex_model(openai), encoding="utf-8")
    with serving(machine, MCP_MEMORY_MODELS=str(model_cache), **state):
        run("mcp-memory", "install", "codex", "--yes", "--no-hooks", environ=environ, cwd=machine.home).succeeded()
        agent = Agent(machine, openai, ("codex", "exec", "--skip-git-repo-check"), environ)
        assert "confidence" in agent.ask(call("memory_search", query="anything")).receipt(0)
