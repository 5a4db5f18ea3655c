"""Hooks wired into the real clients: what one was told, the other has before it in its very first request."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_memory.hooks.hook_answer import COMPACTION
from tests.clients.agents import Agent, claude_code, codex, find_in_claude, first_request, patient, wire
from tests.clients.machine import Machine
from tests.clients.programs import Programs
from tests.clients.stubs import AnthropicStub, OpenAIStub, call
from tests.daemon.place import eventually

NO_TOOL = "Say that you are done."


@pytest.fixture(scope="module")
def wired(served: Machine) -> Machine:
    return wire(served)


def trusting(agent: Agent) -> Agent:
    """Codex skips hooks that nobody has trusted yet."""
    return patient(replace(agent, command=(*agent.command, "--dangerously-bypass-hook-trust")))


def test_what_one_client_is_told_the_other_has_in_its_first_request(
    wired: Machine, anthropic: AnthropicStub, openai: OpenAIStub
) -> None:
    claude, other = patient(claude_code(wired, anthropic)), trusting(codex(wired, openai))
    told = "Ada wants every commit message in Swedish."
    claude.ask(find_in_claude("memory_append"), call("memory_append", content=told, kind="preference"))
    talk = other.ask("Say hello.")
    assert told in first_request(openai, "/responses") and talk.called == []

    told = "Ada never wants a pull request on a Friday."
    other.ask(call("memory_append", content=told, kind="preference"))
    before = len(anthropic.exchanges)
    talk = claude.ask("Say hello.")
    assert told in first_request(anthropic, "/messages", before) and talk.called == []


def test_a_prompt_brings_what_fits_it_and_a_compaction_is_told_what_lasts(
    wired: Machine, anthropic: AnthropicStub
) -> None:
    claude = patient(claude_code(wired, anthropic))
    told = "The ferry to Hven leaves Landskrona at nine."
    claude.ask(find_in_claude("memory_append"), call("memory_append", content=told, kind="fact"))
    before = len(anthropic.exchanges)
    claude.ask("When does the ferry to Hven leave?")
    assert told in first_request(anthropic, "/messages", before)
    replace(claude, command=(*claude.command, "-c")).ask("/compact")
    assert json.dumps(COMPACTION)[1:-3] in anthropic.raw_log


def test_what_was_said_to_either_is_searchable_on_request(
    wired: Machine, anthropic: AnthropicStub, openai: OpenAIStub
) -> None:
    """Captured from the very files that the clients write, as their hooks name them; the report finds the answers."""
    wired.mcp_memory("append", "-k", "preference", "Ada paints harbours in oil.")
    patient(claude_code(wired, anthropic)).ask("The keeper of the lighthouse is called Bjarne.", NO_TOOL)
    trusting(codex(wired, openai)).ask("The keeper of the lighthouse has a cat.", NO_TOOL)

    def captured() -> set[tuple[str, str]]:
        found = wired.mcp_memory("search", "keeper of the lighthouse", "--path", "@transcripts", "--json")
        said = [(hit["path"].split("/")[1], hit["snippet"]) for hit in json.loads(found.out)["hits"]]
        return {
            (client, words) for client, text in said for words in ("is called Bjarne", "has a cat") if words in text
        }

    eventually(lambda: captured() == {("claude-code", "is called Bjarne"), ("codex", "has a cat")})
    sessions = json.loads(wired.mcp_memory("clients", "hooks", "--json", "--sessions", "2").out)["sessions"]
    assert {each["client"] for each in sessions if each["notes"]} == {"claude-code", "codex"}


def test_with_no_daemon_both_work_as_if_we_were_not_there(
    programs: Programs, anthropic: AnthropicStub, openai: OpenAIStub, tmp_path: Path
) -> None:
    machine = wire(Machine.make(tmp_path / "home", programs))
    for agent in (patient(claude_code(machine, anthropic)), trusting(codex(machine, openai))):
        assert agent.ask("Say that you are done.").turns[-1].said
    lines = [json.loads(line) for line in next(machine.home.rglob("hooks.jsonl")).read_text().splitlines()]
    assert {(line["event"], line["cause"]) for line in lines} >= {
        ("session-start", "not_running"), ("prompt", "not_running"),
    }  # fmt: skip
    assert {line["client"] for line in lines} == {"claude-code", "codex"}


def test_a_client_that_speaks_http_itself_is_answered_without_a_process(
    served: Machine, anthropic: AnthropicStub, tmp_path: Path
) -> None:
    claude = claude_code(served, anthropic)
    token = served.mcp_memory("clients", "token", "--client", "claude-code").out.strip()
    hook = {
        "type": "http",
        "url": f"http://127.0.0.1:{served.port}/hook/prompt",
        "headers": {"Authorization": "Bearer $MCP_MEMORY_TOKEN"},
        "allowedEnvVars": ["MCP_MEMORY_TOKEN"],
    }
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}), encoding="utf-8")
    told = "The mill at Ven grinds on Thursdays."
    claude.ask(find_in_claude("memory_append"), call("memory_append", content=told, kind="fact"))
    before, words = len(anthropic.exchanges), (*claude.command, "--settings", str(settings))
    environ = {**claude.environ, "MCP_MEMORY_TOKEN": token, "MCP_MEMORY_HOOKS_ENABLED": "false"}  # the commands are off
    replace(claude, command=words, environ=environ).ask("When does the mill at Ven grind?")
    reported = served.mcp_memory("clients", "hooks", "--sessions", "1", "--json").out
    assert json.loads(reported)["sessions"][0]["given"] == 1
    assert told in first_request(anthropic, "/messages", before)
