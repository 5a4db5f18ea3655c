"""Our own tools, called by the real clients in a repository: what they store belongs to it, and nobody is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.clients.agents import (
    CLAUDE_PREFIX,
    Agent,
    claude_environ,
    codex_model,
    find_in_claude,
    first_request,
    repository,
)
from tests.clients.machine import Machine
from tests.clients.stubs import AnthropicStub, OpenAIStub, call
from tests.hooks.client import PATIENT

APPEND = find_in_claude("memory_append")


@pytest.fixture
def claude(served: Machine, anthropic: AnthropicStub) -> Iterator[Agent]:
    """After `install`, without the rule that it made: only the hook allows the tools."""
    served.mcp_memory("install", "claude-code", "--yes")
    settings = served.home / ".claude" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "permissions": {}}))
    yield Agent(served, anthropic, ("claude", "-p"), {**claude_environ(served, anthropic), **PATIENT})
    served.mcp_memory("uninstall", "claude-code", "--yes")


def test_claude_code(served: Machine, claude: Agent, anthropic: AnthropicStub) -> None:
    """It is stored as this repository's, told in its next session and in no other's."""
    here, there = (replace(claude, folder=repository(served.home / name)) for name in ("mill", "weir"))
    decided = "We grind rye on Thursdays because the wind is steady."
    talk = here.ask(APPEND, call("memory_append", content=decided, kind="decision"))
    note = (served.vault / talk.receipt(1)["path"]).read_text()
    assert "project: mill\n" in note and "session: " in note
    told = []
    for agent in (here, there):
        before = len(anthropic.exchanges)
        agent.ask("Say hello.")
        told.append("We grind rye on Thursdays." in first_request(anthropic, "/messages", before))
    assert told == [True, False]

    search = find_in_claude("memory_search")
    found = [
        there.ask(search, call("memory_search", query="when do we grind rye", **more)).receipt(1)["hits"]
        for more in ({}, {"project": "*"}, {"project": "mill"})
    ]
    assert [len(hits) for hits in found] == [0, 1, 1]
    wide = call("memory_append", content="Ada likes her bread dark.", kind="preference")
    assert "project:" not in (served.vault / there.ask(APPEND, wide).receipt(1)["path"]).read_text()


@pytest.mark.parametrize("rule", ["deny", "ask"])
def test_a_rule_of_yours_wins(served: Machine, claude: Agent, rule: str) -> None:
    local = served.home / ".claude" / "settings.local.json"
    local.write_text(json.dumps({"permissions": {rule: [CLAUDE_PREFIX + "memory_append"]}}))
    try:
        talk = claude.ask(APPEND, call("memory_append", content=f"Under {rule}.", kind="fact"))
    finally:
        local.unlink()
    assert "created" not in talk.heard[-1]
    assert f"Under {rule}." not in "".join(map(str, served.notes().values()))


def test_other_hooks_on_the_same_call(served: Machine, claude: Agent) -> None:
    """One that denies wins. Of two that rewrite the input, Claude Code takes what the last to answer gives."""
    answers = {
        "denied": {"permissionDecision": "deny", "permissionDecisionReason": "not today"},
        "rewritten": {"permissionDecision": "allow", "updatedInput": {"content": "Theirs.", "kind": "fact"}},
    }
    heard = {}
    for name, answer in answers.items():
        output = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **answer}})
        other = {"matcher": "mcp__.*", "hooks": [{"type": "command", "command": f"sleep 2; echo '{output}'"}]}
        local = served.home / ".claude" / "settings.local.json"
        local.write_text(json.dumps({"hooks": {"PreToolUse": [other]}}))
        heard[name] = claude.ask(APPEND, call("memory_append", content="Ours.", kind="fact")).heard[-1]
        local.unlink()
    assert "not today" in heard["denied"]
    assert '"created"' in heard["rewritten"]
    (note,) = (text for text in served.notes().values() if b"title: Theirs." in text)
    assert b"session: " not in note, "it answered last, so its input was taken, and nothing of ours"


def test_switched_off(served: Machine, claude: Agent) -> None:
    off = replace(claude, environ={**claude.environ, "MCP_MEMORY_HOOKS_OFF": "own-tools"})
    assert "requested permissions" in off.ask(APPEND, call("memory_append", content="Off.", kind="fact")).heard[-1]


def test_codex(served: Machine, openai: OpenAIStub) -> None:
    """By the folder in which it asks for its headers, and by what it sends with each call."""
    config = served.home / ".codex" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(codex_model(openai), encoding="utf-8")
    served.mcp_memory("install", "codex", "--yes", "--trust-hooks")
    codex = Agent(
        served, openai, ("codex", "exec", "--skip-git-repo-check"), served.environ(STUB_KEY="stub", **PATIENT)
    )
    here, there = (replace(codex, folder=repository(served.home / name)) for name in ("lock", "dike"))
    decided = "The lock opens at high water only, because the gate leaks."
    talk = here.ask(call("memory_append", content=decided, kind="decision"))
    note = (served.vault / talk.receipt(0)["path"]).read_text()
    sessions = json.loads(served.mcp_memory("clients", "hooks", "--json").out)["sessions"]
    assert "project: lock\n" in note and sessions[0]["session"] in note
    told = []
    for agent in (here, there):
        before = len(openai.exchanges)
        agent.ask("Say hello.")
        told.append("The lock opens at high water only." in first_request(openai, "/responses", before))
    assert told == [True, False]
