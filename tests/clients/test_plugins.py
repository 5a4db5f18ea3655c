"""The packages for clients' own shops, put in by the clients' own commands: the hooks run, the tools answer."""

from __future__ import annotations

import pytest

from tests.clients.agents import Agent, claude_environ, codex_model
from tests.clients.machine import CHECKOUT, Machine
from tests.clients.programs import run
from tests.clients.stubs import AnthropicStub, OpenAIStub, call
from tests.clients.test_hooks import first_request, patient

IN_CLAUDE = "mcp__plugin_mcp-memory_memory__"
"""What Claude Code puts in front of the names of a plugin's tools."""


@pytest.fixture(scope="module")
def told(served: Machine) -> str:
    served.mcp_memory("append", "-k", "preference", "Ada wants tables, not lists.")
    return "Ada wants tables, not lists."


def test_claude_code_finds_nothing_wrong(served: Machine, anthropic: AnthropicStub) -> None:
    environ = claude_environ(served, anthropic)
    for place in (CHECKOUT, CHECKOUT / "configs" / "plugin"):
        command = ("claude", "plugin", "validate", "--strict", place)
        assert "Validation passed" in run(*command, environ=environ, cwd=served.home).succeeded().out


def test_claude_code(served: Machine, anthropic: AnthropicStub, told: str) -> None:
    """From a checkout, as from GitHub."""
    environ = claude_environ(served, anthropic)
    for arguments in (
        ("marketplace", "add", CHECKOUT),
        ("install", "mcp-memory@mcp-memory", "--config", f"url={served.url}"),
    ):
        run("claude", "plugin", *arguments, environ=environ, cwd=served.home).succeeded()
    agent = patient(
        Agent(served, anthropic, ("claude", "--allowedTools", "mcp__plugin_mcp-memory_memory__*", "-p"), environ)
    )
    talk = agent.ask(
        call("ToolSearch", query=f"select:{IN_CLAUDE}memory_append"),
        call("memory_append", content="The lock keeper of Rya is called Oskar.", kind="fact"),
        call("memory_search", query="who keeps the lock"),
    )
    assert told in first_request(anthropic, "/messages"), "what a session starts with"
    assert talk.called == ["ToolSearch", IN_CLAUDE + "memory_append", IN_CLAUDE + "memory_search"]
    assert talk.receipt(2)["hits"][0]["id"] == talk.receipt(1)["id"]
    assert "mcp-memory:long-term-memory" in anthropic.raw_log, "the skill is offered"
    before = len(anthropic.exchanges)
    agent.ask("Who is the lock keeper of Rya?")
    assert "Oskar" in first_request(anthropic, "/messages", before)


def test_codex(served: Machine, openai: OpenAIStub, told: str) -> None:
    """Made for this machine, since Codex has no setting for the address."""
    shop, environ = served.home / "shop", served.environ(STUB_KEY="stub")
    served.mcp_memory("plugin", "--write", str(shop), "--here")
    config = served.home / ".codex" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(codex_model(openai).replace("plugins = false,", "plugins = true,", 1), encoding="utf-8")
    for arguments in (("marketplace", "add", shop), ("add", "mcp-memory@mcp-memory")):
        run("codex", "plugin", *arguments, environ=environ, cwd=served.home).succeeded()
    command = ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust")
    talk = patient(Agent(served, openai, command, environ)).ask(
        call("memory_append", content="The weir of Rya was built in 1871.", kind="fact"),
        call("memory_search", query="when was the weir built"),
    )
    assert told in first_request(openai, "/responses")
    assert talk.receipt(1)["hits"][0]["id"] == talk.receipt(0)["id"]
    assert "mcp-memory:long-term-memory" in openai.raw_log, "the skill is offered"
