"""What memory costs a session: each part as the client's model is really sent it, in tokens of four characters.

`pytest tests/clients/test_tokens.py -s` prints the table.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest

from mcp_memory.server.app import INSTRUCTIONS
from mcp_memory.text.tokens import count_tokens
from tests.clients.agents import CLAUDE_PREFIX, Agent, claude_environ, codex_model, first_request
from tests.clients.machine import Machine
from tests.clients.stubs import AnthropicStub, OpenAIStub
from tests.hooks.client import PATIENT

FIXED = ("tools", "instructions", "file")
"""The parts that don't depend on what is stored."""

FERRY = "The ferry to Hven leaves Landskrona at nine, because the tide is high then."
KINDS = ("preference", "decision", "fact", "fix", "log")


@pytest.fixture(scope="module")
def filled(served: Machine) -> Machine:
    """With more notes than a session is told of."""
    token = served.mcp_memory("clients", "token", "--client", "tests").out.strip()
    said = "Heron {0} is counted at weir {1} by Ada, because the count of {0} was wrong."
    with closing(http.client.HTTPConnection("127.0.0.1", served.port)) as daemon:
        for number in range(60):
            content = (
                FERRY
                if KINDS[number % len(KINDS)] == "fact" and number < len(KINDS)
                else said.format(number, number * 7)
            )
            note = {"content": content, "kind": KINDS[number % len(KINDS)]}
            daemon.request("POST", "/api/append", json.dumps(note), {"Authorization": f"Bearer {token}"})
            assert json.loads(daemon.getresponse().read())["outcome"] == "created"
    return served


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for each in value.values() for text in texts(each))
    elif isinstance(value, list):
        yield from (text for each in value for text in texts(each))


def cost(body: Mapping[str, Any]) -> dict[str, int]:
    """Part → tokens, in the first request of a session. Instructions may be within a tool's description."""
    tools = [tool for tool in body["tools"] if str(tool.get("name", "")).startswith("mcp__memory")]
    wire = json.dumps(tools, ensure_ascii=False, separators=(",", ":"))
    rest = "\n".join(texts({key: value for key, value in body.items() if key != "tools"}))
    names = [line for line in rest.splitlines() if line.startswith(CLAUDE_PREFIX)]  # of tools that it hides at first
    blocks = re.findall(r"(<<<([0-9a-f]{8}) (.*?)\n.*?\2>>>)", rest, re.DOTALL)
    start = sum(len(block) for block, _, title in blocks if "session start" in title)
    return {
        "tools": count_tokens(wire + "".join(names)),
        "instructions": count_tokens(INSTRUCTIONS) if INSTRUCTIONS in rest else 0,
        "file": count_tokens(block[0])
        if (block := re.search(r"## Long-term memory.*?`supersedes`\.\n", rest, re.S))
        else 0,
        "start": count_tokens("x" * start),
        "prompt": count_tokens("x" * (sum(len(block) for block, _, _ in blocks) - start)),
    }


def show(client: str, parts: Mapping[str, int]) -> None:
    fixed = sum(parts[part] for part in FIXED)
    print(f"\n{client:12}", *(f"{part} {tokens:5}" for part, tokens in parts.items()), f"fixed {fixed:5}", sep="  ")


def test_claude_code(filled: Machine, anthropic: AnthropicStub) -> None:
    filled.mcp_memory("install", "claude-code", "--yes")
    Agent(filled, anthropic, ("claude", "-p"), {**claude_environ(filled, anthropic), **PATIENT}).ask(
        "When does the ferry to Hven leave?"
    )
    parts = cost(json.loads(first_request(anthropic, "/messages")))
    show("Claude Code", parts)
    assert all(parts.values()), "each part is there"
    assert sum(parts[part] for part in FIXED) <= 1200 and parts["start"] <= 250


def test_codex(filled: Machine, openai: OpenAIStub) -> None:
    config = filled.home / ".codex" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(codex_model(openai), encoding="utf-8")
    filled.mcp_memory("install", "codex", "--yes", "--trust-hooks")
    Agent(filled, openai, ("codex", "exec", "--skip-git-repo-check"), filled.environ(STUB_KEY="stub", **PATIENT)).ask(
        "When does the ferry to Hven leave?"
    )
    parts = cost(json.loads(first_request(openai, "/responses")))
    show("Codex", parts)
    assert parts["tools"] and parts["file"] and parts["start"] and parts["prompt"], (
        "the instructions are with the tools"
    )
    assert sum(parts[part] for part in FIXED) <= 1300 and parts["start"] <= 250
    assert INSTRUCTIONS.splitlines()[0] in first_request(openai, "/responses")
