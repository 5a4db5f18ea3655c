"""The Inspector's command line: a client without a model, and the strictest reader of schemas."""

from __future__ import annotations

import json
from typing import Any

from tests.clients.agents import TEMPLATES, inspect, shell_commands
from tests.clients.machine import Machine
from tests.clients.programs import run

AUTH_REQUIRED = 3
"""The Inspector's exit status for a refused token."""


def test_a_wrong_token_is_refused(served: Machine) -> None:
    """First in this file, because no client has a token yet: that must not matter."""
    ran = inspect(served, "--method", "tools/list", token="wrong")
    assert ran.returncode == AUTH_REQUIRED
    assert json.loads(ran.err)["error"]["code"] == "auth_required"


def test_the_schemas_are_portable(served: Machine) -> None:
    listing, _ = shell_commands("inspector.md", served)
    ran = run("sh", "-c", listing, environ=served.environ(), cwd=served.home).succeeded()
    tools = {tool["name"]: tool for tool in json.loads(ran.out)["tools"]}
    assert sorted(tools) == ["memory_append", "memory_forget", "memory_recall", "memory_search"]
    assert "outputSchema" not in tools["memory_recall"]
    assert ran.err == ""


def test_over_stdio(served: Machine) -> None:
    """With the shipped file as it is, and the daemon found without an address in it."""

    def inspected(*arguments: str) -> Any:
        command = ["mcp-inspector", "--cli", "--config", TEMPLATES / "stdio.json", "--server", "memory", *arguments]
        return json.loads(run(*command, environ=served.environ(), cwd=served.home).succeeded().out)

    listed = inspected("--method", "tools/list", "--strict")["tools"]
    assert len(listed) == 4
    call = ("--method", "tools/call", "--tool-name")
    stored = inspected(*call, "memory_append", "--tool-arg", "content=The ferry leaves at six.")["structuredContent"]
    found = inspected(*call, "memory_search", "--tool-arg", "query=ferry")["structuredContent"]
    assert found["hits"][0]["id"] == stored["id"]
    assert "source: NAME" in (served.vault / stored["path"]).read_text(encoding="utf-8")
