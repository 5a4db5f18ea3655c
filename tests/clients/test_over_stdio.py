"""Claude Code and Codex with `mcp-memory stdio` for a server, added by their own commands: the tools work."""

from __future__ import annotations

from tests.clients.agents import CLAUDE_PREFIX, Agent, claude_environ, codex_model, doctored, find_in_claude
from tests.clients.machine import Machine
from tests.clients.programs import run
from tests.clients.stubs import AnthropicStub, OpenAIStub, call


def test_claude_code(served: Machine, anthropic: AnthropicStub) -> None:
    environ = claude_environ(served, anthropic)
    add = ("claude", "mcp", "add", "-s", "user", "memory", "--", "mcp-memory", "stdio", "--client", "claude-code")
    run(*add, environ=environ, cwd=served.home).succeeded()
    talk = Agent(served, anthropic, ("claude", "--allowedTools", "mcp__memory__*", "-p"), environ).ask(
        find_in_claude("memory_append"),
        call("memory_append", content="The buoy off Rya is green.", kind="fact"),
        call("memory_search", query="which colour has the buoy"),
    )
    assert talk.called[1:] == [CLAUDE_PREFIX + "memory_append", CLAUDE_PREFIX + "memory_search"]
    assert talk.receipt(2)["hits"][0]["id"] == talk.receipt(1)["id"]
    assert "source: claude-code" in (served.vault / talk.receipt(1)["path"]).read_text(encoding="utf-8")
    seen = doctored(served, "claude-code")
    assert [(wired["how"], wired["reachable"]) for wired in seen["wired"]] == [("stdio", None)]
    assert seen["last_call"] and seen["todo"] == []


def test_codex(served: Machine, openai: OpenAIStub) -> None:
    config = served.home / ".codex" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(codex_model(openai), encoding="utf-8")
    environ = served.environ(STUB_KEY="stub")
    add = ("codex", "mcp", "add", "memory", "--", "mcp-memory", "stdio", "--client", "my-codex")
    run(*add, environ=environ, cwd=served.home).succeeded()
    talk = Agent(served, openai, ("codex", "exec", "--skip-git-repo-check"), environ).ask(
        call("memory_append", content="The beacon of Rya is red.", kind="fact"),
        call("memory_search", query="which colour has the beacon"),
    )
    assert talk.called == ["memory_append", "memory_search"]
    assert talk.receipt(1)["hits"][0]["id"] == talk.receipt(0)["id"]
    seen = doctored(served, "codex")
    assert [(wired["how"], wired["reachable"]) for wired in seen["wired"]] == [("stdio", None)]
    assert seen["last_call"] and seen["todo"] == [], "also where the person has chosen another name"
