"""The real agent programs as language models: no tools, hooks, MCP servers or instructions, and no session is left."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.capture.config import SHIPPED_FOLDERS
from mcp_memory.capture.transcript_paths import TranscriptPaths
from mcp_memory.summarizers.base import Prompt, open_summarizer
from mcp_memory.summarizers.config import SummarizerConfig
from tests.clients.agents import codex_model
from tests.clients.programs import Programs
from tests.clients.stubs import AnthropicStub, GeminiStub, ModelStub, OpenAIStub
from tests.clients.stubs.script import FINISHED

PROMPT = Prompt("Answer in one word.", "<<<abc\nWhen does the ferry leave?\nabc>>>", 50, "abc")
MINE = "Always answer in verse."
SKILL = "---\nname: verses\ndescription: Writes verses about harbours.\n---\nWrite verses.\n"
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeModel")


@pytest.fixture
def home(tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    for name in list(os.environ):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{programs.bin}:/usr/bin:/bin")
    return home


def trap(home: Path, name: str) -> str:
    """Make a program that leaves a file when it is started."""
    program = home / name
    program.write_text(f"#!/bin/sh\ntouch '{home}/{name}-was-started'\n")
    program.chmod(0o755)
    return str(program)


def write(home: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")


def hooks_of(home: Path) -> dict[str, Any]:
    hook: list[Any] = [{"hooks": [{"type": "command", "command": trap(home, "hook")}]}]
    return {"hooks": dict.fromkeys(EVENTS, hook)}


def asked(home: Path, model: ModelStub, tmp_path: Path, provider: str) -> str:
    """Ask the program; return the model's request. The program starts nothing else and leaves no session to capture."""
    config = SummarizerConfig(provider=provider, timeout_s=60)
    reply = open_summarizer(config, tmp_path / "spent.json").ask(PROMPT)
    assert reply.text.strip() == FINISHED
    assert [path.name for path in home.glob("*-was-started")] == []
    paths = TranscriptPaths(SHIPPED_FOLDERS)
    assert [found for client in paths.clients for found in paths.list_transcripts(client)] == []
    (request,) = (line for line in model.raw_log.splitlines() if "ferry" in line)
    assert json.loads(request)["exchange"]["listed"] == (["enter_plan_mode"] if provider == "gemini" else [])
    assert PROMPT.instructions in request and "verses" not in request
    return request


def test_claude_code(home: Path, anthropic: AnthropicStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", anthropic.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "stub")
    server: Any = {"memory": {"type": "stdio", "command": trap(home, "server"), "args": []}}
    write(
        home,
        {
            ".claude/settings.json": json.dumps({**hooks_of(home), "model": "claude-mine"}),
            ".claude/CLAUDE.md": MINE,
            ".claude/skills/verses/SKILL.md": SKILL,
            ".claude.json": json.dumps({"mcpServers": server}),
        },
    )
    request = asked(home, anthropic, tmp_path, "claude")
    assert MINE not in request and '"claude-mine"' in request
    assert "projects" not in json.loads((home / ".claude.json").read_text())


def test_codex(home: Path, openai: OpenAIStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", "stub")
    notify = f"notify = [{json.dumps(trap(home, 'notify'))}]\n"
    server = f"[mcp_servers.memory]\ncommand = {json.dumps(trap(home, 'server'))}\n"
    write(
        home,
        {
            ".codex/config.toml": notify + codex_model(openai) + server,
            ".codex/hooks.json": json.dumps(hooks_of(home)),
            ".codex/skills/verses/SKILL.md": SKILL,
        },
    )
    asked(home, openai, tmp_path, "codex")


def test_gemini_cli(home: Path, gemini: GeminiStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.url)
    settings: Any = {
        **hooks_of(home),
        "mcpServers": {"memory": {"command": trap(home, "server")}},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "model": {"name": "gemini-mine"},
    }
    write(
        home,
        {
            ".gemini/settings.json": json.dumps(settings),
            ".gemini/.env": "GEMINI_API_KEY=stub\n",
            ".gemini/GEMINI.md": MINE,
            ".gemini/skills/verses/SKILL.md": SKILL,
        },
    )
    request = asked(home, gemini, tmp_path, "gemini")
    assert MINE not in request and "gemini-mine" in request
    assert sorted(path.name for path in (home / ".gemini").iterdir()) == [
        *(".env", "GEMINI.md", "settings.json", "skills")
    ]
