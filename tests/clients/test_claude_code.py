"""Claude Code: its model is offered the tools, calls them on a running daemon and hears the results."""

from __future__ import annotations

import json

from tests.clients.agents import CLAUDE_PREFIX as PREFIX
from tests.clients.agents import claude_code, find_in_claude
from tests.clients.machine import Machine
from tests.clients.stubs import AnthropicStub, call

FERRY = "The ferry to Hven leaves Landskrona at nine."


def test_appends_then_finds(served: Machine, anthropic: AnthropicStub) -> None:
    agent = claude_code(served, anthropic)
    talk = agent.ask(call("memory_search", query="anything"))
    assert {PREFIX + "memory_search", PREFIX + "memory_recall"} <= set(talk.listed), "from the start"
    assert "confidence" in talk.receipt(0)
    talk = agent.ask(
        find_in_claude("memory_append"),
        call("memory_append", content=FERRY, kind="fact", title="Departure of the ferry to Hven"),
        call("memory_search", query="when does the ferry leave"),
        call("memory_recall", query="when does the ferry leave"),
    )
    assert talk.called == [
        "ToolSearch",
        *(PREFIX + name for name in ("memory_append", "memory_search", "memory_recall")),
    ]
    stored = talk.receipt(1)
    assert stored["outcome"] == "created"
    assert talk.receipt(2)["hits"][0]["id"] == stored["id"]
    assert FERRY in talk.heard[3]
    note = (served.vault / stored["path"]).read_text(encoding="utf-8")
    assert FERRY in note
    assert "source: claude-code" in note
    headers = json.loads(served.mcp_memory("headers", "--client", "claude-code").out)
    assert headers["Authorization"].removeprefix("Bearer ") not in anthropic.raw_log, "the model sees no token"
    assert headers["Authorization"] not in (served.home / ".claude.json").read_text(encoding="utf-8")
