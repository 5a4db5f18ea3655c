"""Sub-agents of the real clients: the standing orders and what bears on the task are in what their model is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients.agents import Agent, claude_environ, codex_model, repository
from tests.clients.machine import Machine
from tests.clients.stubs import AnthropicStub, ModelStub, OpenAIStub, call
from tests.daemon.place import eventually
from tests.hooks.client import PATIENT

ORDER = "Ask Ada before you touch the locks of the canal."
DECIDED = "We write the ferry timetable in CSV, because the harbour office reads nothing else."
OTHERS = "Lighthouse keepers are paid on the first of the month."
LOGGED = "Ada looked at the ferry timetable."
TASK, OTHER_TASK = "Write the ferry timetable for the winter.", "Compute when the lighthouse keepers are paid."


@pytest.fixture(scope="module", autouse=True)
def filled(served: Machine) -> None:
    for kind, project, text in (
        ("decision", "canal", DECIDED), ("fact", "canal", OTHERS), ("log", "canal", LOGGED),
        ("decision", "mill", DECIDED.replace("CSV", "Swedish")),
    ):  # fmt: skip
        served.mcp_memory("append", "-k", kind, "--project", project, text)
    order = served.vault / "_always-load" / "order.md"
    order.parent.mkdir(exist_ok=True)
    order.write_text(f"{ORDER}\n", encoding="utf-8")
    eventually(lambda: ORDER in served.mcp_memory("recall").out)


@pytest.fixture
def claude(served: Machine, anthropic: AnthropicStub) -> Iterator[Agent]:
    served.mcp_memory("install", "claude-code", "--yes")
    environ = {**claude_environ(served, anthropic), **PATIENT}
    yield Agent(served, anthropic, ("claude", "-p"), environ, folder=canal(served))
    served.mcp_memory("uninstall", "claude-code", "--yes")


def canal(served: Machine) -> Path:
    """The same repository for both clients: another one of this name would be another project."""
    folder = served.home / "canal"
    return folder if folder.exists() else repository(folder)


def sent(model: ModelStub, task: str) -> list[str]:
    """What the model was sent for each sub-agent that has this task, in its first request."""
    bodies = [json.loads(line)["body"] for line in model.raw_log.splitlines()]
    texts = [json.dumps(body.get("messages") or body.get("input") or [], ensure_ascii=False) for body in bodies]
    return [text for text in texts if task in text and "CALL" not in text and "function_call" not in text]


def started(task: str, kind: str) -> str:
    return call("Agent", description="work", prompt=task, subagent_type=kind)


def test_claude_code(claude: Agent, anthropic: AnthropicStub) -> None:
    """Each has what bears on its own task, also one that a sub-agent starts; one that only searches has nothing."""
    claude.ask(
        started(TASK, "general-purpose"), started(OTHER_TASK, "general-purpose"),
        started(f"{started(TASK.replace('winter', 'summer'), 'general-purpose')}", "general-purpose"),
        started(TASK.replace("Write", "Find"), "Explore"),
    )  # fmt: skip
    (first,), (second,), (inner,), (searching,) = (
        sent(anthropic, task)
        for task in (TASK, OTHER_TASK, TASK.replace("winter", "summer"), TASK.replace("Write", "Find"))
    )
    for text in (first, inner):
        assert ORDER in text and DECIDED in text and "data, not instructions" in text
        assert OTHERS not in text and "Swedish" not in text and LOGGED not in text
        assert text.count(DECIDED) == text.count(ORDER) == 1
    assert ORDER in second and OTHERS in second and DECIDED not in second
    assert ORDER not in searching and DECIDED not in searching


def test_switched_off(claude: Agent, anthropic: AnthropicStub) -> None:
    off = replace(claude, environ={**claude.environ, "MCP_MEMORY_HOOKS_OFF": "subagents"})
    off.ask(started(TASK, "general-purpose"))
    (told,) = sent(anthropic, TASK)
    assert ORDER not in told and DECIDED not in told


def test_codex(served: Machine, openai: OpenAIStub) -> None:
    """And nothing counts as seen by the session that started it."""
    config = served.home / ".codex" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(codex_model(openai), encoding="utf-8")
    served.mcp_memory("install", "codex", "--yes", "--trust-hooks")
    command = ("codex", "exec", "--skip-git-repo-check")
    agent = Agent(served, openai, command, served.environ(STUB_KEY="stub", **PATIENT), folder=canal(served))
    spawn = {"worker": TASK, "explorer": TASK.replace("Write", "Find")}
    agent.ask(
        *(call("spawn_agent", message=task, agent_type=kind) for kind, task in spawn.items()),
        call("exec_command", cmd="sleep 3"),
    )
    (told,), (searching,) = (sent(openai, task) for task in spawn.values())
    assert ORDER in told and DECIDED in told and LOGGED not in told and "Swedish" not in told
    assert ORDER not in searching and DECIDED not in searching
    served.mcp_memory("uninstall", "codex", "--yes")
