"""The configurations that people paste are valid, and say one thing about the same things."""

from __future__ import annotations

import json
import tomllib

import pytest

from mcp_memory.cli.clients.proxies import STDIO_USAGE
from mcp_memory.integrations.commands import LAUNCHER
from mcp_memory.settings.settings import PREFERRED_PORT
from tests.clients.agents import SHIPPED_URL, TEMPLATES

FILES = [
    "claude-code.json",
    "claude-code.md",
    "codex.toml",
    "inspector.md",
    "instructions.md",
    "stdio.json",
]

WITHOUT_ADDRESS = {"claude-code.md", "instructions.md", "stdio.json"}


def test_they_are_all_known_here() -> None:
    assert sorted(path.name for path in TEMPLATES.iterdir()) == FILES


def test_they_name_the_preferred_port() -> None:
    assert f"http://127.0.0.1:{PREFERRED_PORT}/mcp" == SHIPPED_URL


@pytest.mark.parametrize("name", [name for name in FILES if name not in WITHOUT_ADDRESS])
def test_each_names_the_address(name: str) -> None:
    assert SHIPPED_URL in _read(name)


def test_codex() -> None:
    server = tomllib.loads(_read("codex.toml"))["mcp_servers"]["memory"]
    assert server["url"] == SHIPPED_URL
    assert server["http_headers_helper"] == f"{LAUNCHER} mcp-memory headers --client codex"
    assert (server["tool_timeout_sec"], server["startup_timeout_sec"]) == (60, 45), "Codex alone waits for minutes"
    assert set(server) == {"url", "http_headers_helper", "tool_timeout_sec", "startup_timeout_sec"}


def test_stdio() -> None:
    """What `mcp-memory stdio --help` shows is the same."""
    shown = STDIO_USAGE[STDIO_USAGE.index("{") :]
    assert json.loads(_read("stdio.json")) == json.loads(shown)


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
