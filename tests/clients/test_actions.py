"""What the real clients show their model as it acts: an order before it is broken, the fix of an error, and what of the
earlier no longer holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients.agents import FAIL, FIX, ORDER, Agent, claude_environ, codex_model, first_request, repository
from tests.clients.machine import Machine
from tests.clients.stubs import AnthropicStub, GeminiStub, OpenAIStub, call
from tests.hooks.client import PATIENT


@pytest.fixture(scope="module")
def mill(served: Machine) -> Path:
    served.mcp_memory("append", "-k", "preference", "--project", "mill", "--title", "Generated client", ORDER)
    served.mcp_memory("append", "-k", "fix", "--project", "mill", FIX)
    folder = repository(served.home / "mill")
    (folder / "api/gen").mkdir(parents=True)
    return folder


@pytest.fixture
def generated(mill: Path) -> Path:
    """The file that nobody shall edit."""
    file = mill / "api/gen/client.ts"
    file.write_text("hello\n")
    return file


@pytest.fixture
def claude(served: Machine, anthropic: AnthropicStub, mill: Path) -> Iterator[Agent]:
    served.mcp_memory("install", "claude-code", "--yes")
    environ = {**claude_environ(served, anthropic), **PATIENT}
    yield Agent(served, anthropic, ("claude", "--allowedTools", "Bash Edit Read", "-p"), environ, folder=mill)
    served.mcp_memory("uninstall", "claude-code", "--yes")


@pytest.fixture
def codex(served: Machine, openai: OpenAIStub, mill: Path) -> Iterator[Agent]:
    config = served.home / ".codex" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(codex_model(openai), encoding="utf-8")
    served.mcp_memory("install", "codex", "--yes")
    command = ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    command += ("--dangerously-bypass-hook-trust",)
    yield Agent(served, openai, command, served.environ(STUB_KEY="stub", **PATIENT), folder=mill)
    served.mcp_memory("uninstall", "codex", "--yes")


@pytest.fixture
def gemini_cli(served: Machine, gemini: GeminiStub, mill: Path) -> Iterator[Agent]:
    settings = served.home / ".gemini" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
    served.mcp_memory("install", "gemini", "--yes")
    environ = served.environ(
        GEMINI_CLI_TRUST_WORKSPACE="true", GEMINI_API_KEY="stub", GOOGLE_GEMINI_BASE_URL=gemini.url,
        GEMINI_TELEMETRY_ENABLED="false", NO_COLOR="1", **PATIENT,
    )  # fmt: skip
    yield Agent(served, gemini, ("gemini", "-y", "-p"), environ, folder=mill)
    served.mcp_memory("uninstall", "gemini", "--yes")


def _edits(file: Path) -> tuple[str, str]:
    edit = call("Edit", file_path=str(file), old_string="hello", new_string="bye")
    return call("Read", file_path=str(file)), edit


def test_claude_code_is_stopped_once_by_an_order(claude: Agent, generated: Path, anthropic: AnthropicStub) -> None:
    read, edit = _edits(file := generated)
    heard = claude.ask(read, edit).heard[-1]
    assert "Stopped once" in heard and f'"Generated client": {ORDER}' in heard and file.read_text() == "hello\n"
    again = claude.ask(read, edit, edit).heard
    assert "Stopped once" in again[1] and "updated successfully" in again[2] and file.read_text() == "bye\n"
    before = len(anthropic.exchanges)
    told = replace(claude, environ={**claude.environ, "MCP_MEMORY_HOOKS_OFF": "stops"})
    file.write_text("hello\n")
    assert "updated successfully" in told.ask(read, edit).heard[-1]
    assert ORDER in anthropic.raw_log and ORDER in "".join(anthropic.raw_log.splitlines()[before:])
    before, off = len(anthropic.exchanges), {"MCP_MEMORY_HOOKS_OFF": "actions"}
    file.write_text("hello\n")
    replace(claude, environ={**claude.environ, **off}).ask(read, edit)
    assert "PreToolUse:Edit hook" not in "".join(anthropic.raw_log.splitlines()[before:])


def test_claude_code_hears_the_fix_of_an_error(claude: Agent, anthropic: AnthropicStub) -> None:
    claude.ask(call("Bash", command=FAIL), call("Bash", command="git status"))
    assert "PostToolUseFailure:Bash hook additional context" in anthropic.raw_log
    assert FIX in anthropic.raw_log


def test_codex(served: Machine, codex: Agent, openai: OpenAIStub, generated: Path) -> None:
    write = call("exec_command", cmd="echo bye > api/gen/client.ts")
    heard = codex.ask(write, write, call("exec_command", cmd=FAIL), call("exec_command", cmd="git status")).heard
    assert "Stopped once" in heard[0] and ORDER in heard[0] and "code 0" in heard[1]
    assert generated.read_text() == "bye\n" and FIX in openai.raw_log
    withdrawn_in(served, codex, (*codex.command[:2], "resume", "--last", *codex.command[2:]))


def test_gemini_cli(served: Machine, gemini_cli: Agent, generated: Path) -> None:
    """It hears of the order alone; a note gets its project from the server's headers, so no call is rewritten."""
    edit = call("replace", file_path=str(generated), instruction="Part", old_string="hello", new_string="bye")
    write = call("write_file", file_path=str(generated), content="again\n")
    stored = call("mcp_memory_memory_append", content="The mill stands still in June.", kind="decision")
    heard = gemini_cli.ask(edit, edit, write, stored).heard
    assert "Stopped once" in heard[0] and ORDER in heard[0] and "Stopped" not in "".join(heard[1:])
    assert generated.read_text() == "again\n" and "modified by a hook" not in "".join(heard)
    (note,) = (text for text in served.notes().values() if b"stands still" in text)
    assert b"project: mill\n" in note
    withdrawn_in(served, gemini_cli, ("gemini", "--resume", "latest", "-y", "-p"))


def withdrawn_in(served: Machine, agent: Agent, resumed: tuple[str, ...]) -> None:
    """A note that a session was told is forgotten; the session is told so when it is resumed."""
    said = f"We oil the {agent.command[0]} on Mondays."
    note = json.loads(served.mcp_memory("append", "-k", "decision", "--project", "mill", "--json", said).out)["id"]
    agent.ask(f"When do we oil the {agent.command[0]}?")
    assert said in agent.model.raw_log
    served.mcp_memory("forget", note)
    withdrawn = f"Withdrawn: {note[-6:]} was forgotten."
    assert withdrawn not in agent.model.raw_log
    replace(agent, command=resumed).ask("Write a haiku.")
    assert withdrawn in agent.model.raw_log


def test_what_was_told_and_forgotten_since_is_named_with_the_next_prompt(
    served: Machine, claude: Agent, anthropic: AnthropicStub
) -> None:
    stored = served.mcp_memory(
        "append", "-k", "decision", "--project", "mill", "--json", "We grind rye on Thursdays."
    ).out
    note = stored.split('"id": "')[1][:26]
    claude.ask("When do we grind rye?")
    served.mcp_memory("forget", note)
    before = len(anthropic.exchanges)
    replace(claude, command=("claude", "-c", "-p")).ask("Write a haiku.")
    assert f"Withdrawn: {note[-6:]} was forgotten." in first_request(anthropic, "/messages", before)
