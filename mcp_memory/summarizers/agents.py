"""Asks a language model through your own agent program, with your account: Claude Code, Codex or Gemini CLI, headless.

The program only turns a text into another. It gets no tools, MCP servers, hooks, skills and plugins, which would start
our own memory, and saves no session, which our capture would read again. Claude Code and Gemini CLI don't see your
instructions; Codex can't be kept from `~/.codex/AGENTS.md`. Codex offers some models a tool for programs, which can't
run: its host is off.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from mcp_memory.summarizers.command import CommandLlm
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.fallback import FallbackSummarizer
from mcp_memory.text.language.word_tables import read_table

PROGRAMS: Mapping[str, str] = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}

INSTRUCTIONS = "You answer one text with another, in exactly the form that it asks for. You have no tools."
"""Replaces the programs' own instructions, which are thousands of tokens about writing code."""

_FURTHER_FOLDERS = ("~/.local/bin", "/opt/homebrew/bin", "/usr/local/bin")
"""Folders of programs that a daemon may lack, if a desktop application started it."""

_TABLES = read_table("mcp_memory.summarizers", "programs.toml")
_COMMON_PREFIXES = ("LC_", "XDG_")
_CLAUDE_VARIABLES = (
    *("ANTHROPIC_", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN"),
    *("CLAUDE_CODE_USE_", "CLAUDE_CODE_SKIP_", "CLAUDE_CODE_CLIENT_"),
)
_CLOUD_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_",),
    "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_", "CLOUDSDK_", "CLOUD_ML_", "VERTEX_"),
    "CLAUDE_CODE_USE_FOUNDRY": ("AZURE_",),
}
_CODEX_VARIABLES = ("OPENAI_", "CODEX_HOME", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "CODEX_CA_CERTIFICATE")
_GEMINI_VARIABLES = (
    *("GEMINI_API_KEY", "GEMINI_MODEL", "GEMINI_DEFAULT_AUTH_TYPE", "GEMINI_CLI_USE_COMPUTE_ADC"),
    *("GEMINI_FORCE_", "GOOGLE_", "CLOUDSDK_CONFIG"),
)

_CODEX_ACCOUNT = (
    *("cli_auth_credentials_store", "forced_login_method", "chatgpt_base_url", "openai_base_url"),
    *("model", "model_reasoning_effort", "model_provider"),
)
_CODEX_PROVIDER = ("name", "base_url", "wire_api", "env_key", "requires_openai_auth", "query_params")
"""Nothing secret: other users see a program's arguments."""

_GEMINI_ACCOUNT = (
    *(".env", "oauth_creds.json", "google_accounts.json", "gemini-credentials.json"),
    "installation_id",
)


def open_claude(config: SummarizerConfig, spent: Path) -> FallbackSummarizer:
    """Open Claude Code without starting it."""
    command = ["claude", "--print", "--output-format", "text", "--no-session-persistence", "--safe-mode"]
    command += ["--strict-mcp-config", "--disable-slash-commands", "--tools", "", "--system-prompt", INSTRUCTIONS]
    clouds = [variables for switch, variables in _CLOUD_VARIABLES.items() if switch in os.environ]
    environ = _environment(_CLAUDE_VARIABLES + sum(clouds, ()))
    environ |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    llm = CommandLlm(command + _model(config), config.timeout_s, environ)
    return FallbackSummarizer(llm, config, spent)


def open_codex(config: SummarizerConfig, spent: Path) -> FallbackSummarizer:
    """Open Codex without starting it. Its configuration is ignored except for your account and model."""
    command = ["codex", "exec", "--ephemeral", "--ignore-user-config", "--ignore-rules", "--skip-git-repo-check"]
    command += ["--sandbox", "read-only", "--color", "never"]
    account = _codex_account()
    for key, value in {**account, "instructions": INSTRUCTIONS, **_TABLES["codex"]}.items():
        command += ["--config", f"{key}={json.dumps(value)}"]
    key_names = tuple(value for key, value in account.items() if key.endswith(".env_key"))
    environ = _environment(_CODEX_VARIABLES + key_names)
    llm = CommandLlm([*command, *_model(config), "-"], config.timeout_s, environ)
    return FallbackSummarizer(llm, config, spent)


def open_gemini(config: SummarizerConfig, spent: Path) -> FallbackSummarizer:
    """Open Gemini CLI without starting it."""
    command = ["gemini", "--output-format", "text", "--extensions", "none", "--approval-mode", "default"]
    command += ["--skip-trust", *_model(config)]
    environ = _environment(_GEMINI_VARIABLES)
    llm = CommandLlm(command, config.timeout_s, environ, furnish=_furnish_gemini)
    return FallbackSummarizer(llm, config, spent)


def _model(config: SummarizerConfig) -> list[str]:
    return ["--model", config.model] if config.model else []


def _environment(variables: tuple[str, ...]) -> dict[str, str]:
    """Return what a program sees: variables that start with one of these names, and none that mark a session in it."""
    prefixes = (*_COMMON_PREFIXES, *variables)
    passed = {
        name: value for name, value in os.environ.items() if name in _TABLES["variables"] or name.startswith(prefixes)
    }
    folders = [os.environ.get("PATH", os.defpath), *map(os.path.expanduser, _FURTHER_FOLDERS)]
    return passed | {"PATH": os.pathsep.join(folders)}


def _codex_account() -> dict[str, Any]:
    """Return the settings of Codex that name your account and model, by dotted key."""
    home = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")  # noqa: PTH111 -- raises nothing
    tree: dict[str, Any] = {}
    with suppress(OSError, ValueError):  # Codex runs without them
        tree = tomllib.loads((Path(home) / "config.toml").read_text(encoding="utf-8"))
    account = {key: tree[key] for key in _CODEX_ACCOUNT if isinstance(tree.get(key), str)}
    name = account.get("model_provider", "")
    provider = tree.get("model_providers", {}).get(name)
    if re.fullmatch(r"[\w-]+", name) and isinstance(provider, dict):
        account |= dict(_dotted(f"model_providers.{name}", cast("dict[str, Any]", provider), _CODEX_PROVIDER))
    return account


def _dotted(key: str, table: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name in names:
        value = table.get(name)
        if isinstance(value, dict):
            parameters = cast("dict[str, Any]", value)
            yield from _dotted(f"{key}.{name}", parameters, tuple(parameters))
        elif isinstance(value, (str, bool)):
            yield f"{key}.{name}", value


def _furnish_gemini(folder: Path) -> Mapping[str, str]:
    """Give Gemini CLI a home of its own with your login, because it saves each session there."""
    theirs = Path(os.environ.get("GEMINI_CLI_HOME") or os.path.expanduser("~")) / ".gemini"  # noqa: PTH111 -- raises nothing
    home = folder / "home"
    (home / ".gemini").mkdir(parents=True)
    for name in _GEMINI_ACCOUNT:
        if (theirs / name).exists():
            (home / ".gemini" / name).symlink_to(theirs / name)
    settings: dict[str, Any] = {}
    with suppress(OSError, ValueError, TypeError):  # Gemini CLI runs without them
        given = json.loads((theirs / "settings.json").read_text(encoding="utf-8"))
        settings = {name: given[name] for name in ("model", "security") if name in given}
    # Not as system settings: Gemini CLI 0.61 skips these unless root owns the file and all folders above it.
    (home / ".gemini" / "settings.json").write_text(json.dumps({**settings, **_TABLES["gemini"]}), encoding="utf-8")
    instructions = home / "instructions.md"
    instructions.write_text(INSTRUCTIONS, encoding="utf-8")
    return {
        "GEMINI_CLI_HOME": str(home),
        "GEMINI_SYSTEM_MD": str(instructions),
        "NO_COLOR": "1",
    }
