"""A person's own agent program answers, and sees only the prompt."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.summarizers.agents import PROGRAMS
from mcp_memory.summarizers.base import Prompt, open_summarizer
from mcp_memory.summarizers.config import SummarizerConfig

Seen = Mapping[str, Any]
Ask = Callable[..., Seen]

PROMPT = Prompt("Answer in one word.", "<<<abc\nWhen does the ferry leave?\nabc>>>", 50, "abc")

_PROGRAM = """#!{python}
import json, os, pathlib, sys
inside = {{str(path.relative_to(".")): path.is_symlink() or path.read_text()
          for path in sorted(pathlib.Path(".").rglob("*")) if path.is_file()}}
seen = {{"argv": sys.argv[1:], "stdin": sys.stdin.read(), "environ": dict(os.environ), "cwd": os.getcwd(),
         "inside": inside}}
pathlib.Path({seen!r}).write_text(json.dumps(seen))
print("nine")
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with all programs, and an environment that only names them."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        text = _PROGRAM.format(python=sys.executable, seen=str(tmp_path / "seen.json"))
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    for name in list(os.environ):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def ask(home: Path, tmp_path: Path) -> Ask:
    """Ask a program; return what it saw."""

    def ask(provider: str, **options: Any) -> Seen:
        config = SummarizerConfig(provider=provider, timeout_s=30, **options)
        reply = open_summarizer(config, tmp_path / "spent.json").ask(PROMPT)
        assert reply.text.strip() == "nine"
        return json.loads((tmp_path / "seen.json").read_text())

    return ask


@pytest.mark.parametrize("provider", PROGRAMS)
def test_a_program_reads_the_prompt_as_text_in_a_folder_of_its_own(ask: Ask, provider: str) -> None:
    seen = ask(provider)
    assert seen["stdin"] == f"{PROMPT.instructions}\n\n{PROMPT.material}\n"
    assert PROMPT.instructions not in " ".join(seen["argv"]), "other users see a program's arguments"
    assert "ferry" not in " ".join(seen["argv"])
    assert Path(seen["cwd"]).name.startswith("mcp-memory-") and not Path(seen["cwd"]).exists()
    assert "--model" not in seen["argv"]
    chosen = ask(provider, model="small")["argv"]
    assert chosen[chosen.index("--model") + 1] == "small"


@pytest.mark.parametrize("provider", PROGRAMS)
def test_a_program_sees_its_own_account_and_no_other(ask: Ask, monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    accounts = {
        "claude": {"ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_USE_BEDROCK",
                   "AWS_REGION"},
        "codex": {"OPENAI_API_KEY", "CODEX_HOME", "CODEX_API_KEY"},
        "gemini": {"GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT"},
    }  # fmt: skip
    others = {"MCP_MEMORY_STATE", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "GITHUB_TOKEN",
              "CODEX_SANDBOX", "CODEX_SESSION_ID", "GEMINI_CLI", "GEMINI_SANDBOX", "GEMINI_CLI_IDE_SERVER_PORT",
              "AZURE_KEY", "NODE_OPTIONS"}  # fmt: skip
    common = {"HOME", "PATH", "NODE_EXTRA_CA_CERTS", "DBUS_SESSION_BUS_ADDRESS", "HTTPS_PROXY"}
    known = {name for names in accounts.values() for name in names}
    for name in known | others | common - {"HOME", "PATH"}:
        monkeypatch.setenv(name, "1")
    seen = ask(provider)["environ"]
    assert accounts[provider] | common <= seen.keys()
    assert not seen.keys() & (others | known - accounts[provider])


def test_a_cloud_account_is_passed_on_only_where_it_is_used(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "1")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "1")
    assert not {"AWS_SECRET_ACCESS_KEY", "GOOGLE_APPLICATION_CREDENTIALS"} & ask("claude")["environ"].keys()
    monkeypatch.setenv("CLAUDE_CODE_USE_VERTEX", "1")
    seen = ask("claude")["environ"].keys()
    assert "GOOGLE_APPLICATION_CREDENTIALS" in seen and "AWS_SECRET_ACCESS_KEY" not in seen


def test_codex_keeps_the_account_and_the_model_and_nothing_secret(
    ask: Ask, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text("""
model = "gpt-big"
model_provider = "azure"
approval_policy = "on-request"
notify = ["say"]
[mcp_servers.memory]
command = "mcp-memory"
[model_providers.azure]
base_url = "https://example.azure.com/openai"
env_key = "AZURE_KEY"
experimental_bearer_token = "secret"
http_headers = { "api-key" = "secret" }
query_params = { api-version = "2026-01-01" }
requires_openai_auth = false
[model_providers.other]
base_url = "https://other.example"
""")
    monkeypatch.setenv("AZURE_KEY", "k")
    seen = ask("codex")
    told = " ".join(seen["argv"])
    for setting in (
        'model="gpt-big"',
        'model_provider="azure"',
        'model_providers.azure.base_url="https://example.azure.com/openai"',
        'model_providers.azure.query_params.api-version="2026-01-01"',
        "model_providers.azure.requires_openai_auth=false",
    ):
        assert f"--config {setting}" in told
    assert not any(word in told for word in ("secret", "mcp_servers", "notify", "approval", "other.example"))
    assert seen["environ"]["AZURE_KEY"] == "k"


@pytest.mark.parametrize(
    "config", ["model = ", "model = 3", 'model_provider = "a.b"\n[model_providers."a.b"]\nname = "x"', "\xff"]
)
def test_codex_is_asked_whatever_its_configuration_holds(ask: Ask, home: Path, config: str) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_bytes(config.encode("latin-1"))
    assert not [word for word in ask("codex")["argv"] if word.startswith(("model=", "model_providers"))]


def test_gemini_cli_has_a_home_of_its_own_with_the_login(ask: Ask, home: Path) -> None:
    theirs = home / ".gemini"
    theirs.mkdir()
    for name in ("settings.json", "oauth_creds.json", "GEMINI.md", "projects.json"):
        (theirs / name).write_text("{}")
    theirs.joinpath("settings.json").write_text('{"model": {"name": "flash"}, "mcpServers": {"memory": {}}}')
    seen = ask("gemini")
    inside, environ = seen["inside"], seen["environ"]
    assert [name for name, text in inside.items() if text is True] == ["home/.gemini/oauth_creds.json"]
    assert environ["GEMINI_CLI_HOME"] == f"{seen['cwd']}/home" and environ["HOME"] == str(home)
    settings = json.loads(inside["home/.gemini/settings.json"])
    assert settings["tools"]["core"] == ["enter_plan_mode"] and settings["hooksConfig"] == {"enabled": False}
    assert settings["model"] == {"name": "flash"} and "mcpServers" not in settings
    assert sorted(path.name for path in theirs.iterdir()) == [
        *("GEMINI.md", "oauth_creds.json", "projects.json", "settings.json")
    ]


def test_a_program_that_is_missing_is_looked_up_again(home: Path, tmp_path: Path) -> None:
    """A daemon starts without it, and finds it once it is installed."""
    config = SummarizerConfig(provider="claude", timeout_s=30, back_off_s=0.0)
    program = tmp_path / "bin" / "claude"
    text = program.read_text()
    program.unlink()
    summarizer = open_summarizer(config, tmp_path / "spent.json")
    with pytest.raises(SummarizerUnavailable, match="claude cannot be run: No such file"):
        summarizer.ask(PROMPT)
    later = home / ".local" / "bin" / "claude"
    later.parent.mkdir(parents=True)
    later.write_text(text)
    later.chmod(0o755)
    assert summarizer.ask(PROMPT).text == "nine\n"
