"""The hooks of sub-agents, as the clients call them: what each is told, whatever the client says."""

from __future__ import annotations

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mcp_memory.client.connection import Address
from tests.daemon.place import Place, Running
from tests.hooks.client import Session, logged

DECIDED = "We sign the release bundles with minisign, because gpg needs an agent."
TASK = "Write the job that signs the release bundles."


@pytest.fixture(scope="module")
def filled(served: Place) -> Place:
    served.run("append", "-k", "decision", DECIDED).ok()
    return served


def started(session: Session, tool_input: Any, **more: Any) -> dict[str, Any] | None:
    """The input of the tool that starts a sub-agent, as the hook has rewritten it."""
    said = {**session.said("before-tool"), "tool_name": "Agent", "tool_input": tool_input, **more}
    out = session.run("before-tool", json.dumps(said).encode())
    answer = json.loads(out)["hookSpecificOutput"] if out else {}
    assert "permissionDecision" not in answer, "whether it may start is not ours to say"
    return answer.get("updatedInput")


def test_a_task_keeps_all_that_it_had(filled: Place):
    given = {"prompt": TASK, "subagent_type": "fixer", "description": "sign", "run_in_background": True, "new": [1]}
    with logged(filled) as lines:
        rewritten = started(Session(filled, "parent"), given)
    assert rewritten and rewritten["prompt"].startswith(f"{TASK}\n\n") and DECIDED in rewritten["prompt"]
    assert {**rewritten, "prompt": TASK} == given
    assert [(line["event"], line["session"], line["outcome"]) for line in lines] == [("before-tool", "parent", "given")]
    assert DECIDED in Session(filled, "parent").prompt(TASK), "its parent hasn't seen it"


@pytest.mark.parametrize(
    "tool_input",
    [None, [], "x", {}, {"prompt": 5}, {"prompt": " "}, {"prompt": TASK, "subagent_type": "Explore"},
     {"prompt": TASK, "subagent_type": "dev:code-explorer"}, {"prompt": TASK + "x" * 300_000}],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_a_task_is_left_alone(filled: Place, tool_input: Any):
    assert started(Session(filled, "parent"), tool_input) is None


def test_a_type_of_another_form_is_any_type(filled: Place):
    assert started(Session(filled, "parent"), {"prompt": TASK, "subagent_type": ["Explore"]})


def test_a_prompt_of_codex_for_a_sub_agent_is_its_task(filled: Place):
    session = Session(filled, "codex parent", "codex")

    def told(agent: str, kind: str = "worker", prompt: str = TASK) -> str:
        return session.context("prompt", {"prompt": prompt, "agent_id": agent, "agent_type": kind})

    assert DECIDED in told("a1") and told("a1") == "" and DECIDED in told("a2") and told("a3", "explorer") == ""
    assert DECIDED in session.prompt(TASK)


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_a_prompt_that_nobody_typed_gets_nothing(filled: Place, client: str):
    session = Session(filled, f"notified {client}", client)
    for prompt in (
        f"<task-notification>\n<result>{TASK}</result>\n", f"<system-reminder>\n{TASK}\n</system-reminder>",
        f"\n<local-command-stdout>{TASK}</local-command-stdout>",
        f"<local-command-caveat>x</local-command-caveat>{TASK}",
        f"[SYSTEM NOTIFICATION - NOT USER INPUT]\n{TASK}", f"[Request interrupted by user] {TASK}",
        f"This session is being continued from a previous conversation that ran out of context.\n{TASK}",
        f"PostToolUse:Bash hook additional context: {TASK}", f"Stop hook feedback:\n{TASK}", f"<bash-stdout>{TASK}",
        f"<system-reminder>a<system-reminder>b</system-reminder>\n{TASK}</system-reminder>",
        f"\ufeff<turn_aborted>{TASK}",
        f"<user-prompt-submit-hook>{TASK}</user-prompt-submit-hook>", f"<subagent_notification>{TASK}",
        f"<system-reminder>\n{TASK}",
        f"Another language model started to solve this problem and produced a summary of it: {TASK}",
    ):  # fmt: skip
        assert session.prompt(prompt) == "", prompt
    assert DECIDED in session.prompt(f"<system-reminder>\nToday is Monday.\n</system-reminder>\n{TASK}"), (
        "but beside it"
    )


def test_fifty_at_once(filled: Place):
    """Over HTTP, so that what is measured is the daemon: each is answered in time, and a prompt isn't kept waiting."""
    running = Running(filled, Address.read(filled.state.daemon))
    address, token = running.address, running.token("claude-code")

    def ask(number: int) -> str:
        kind = "UserPromptSubmit" if number == 25 else "PreToolUse"
        event = "prompt" if number == 25 else "before-tool"
        said = {
            "session_id": f"s{number % 3}",
            "cwd": "/",
            "prompt": TASK,
            "tool_name": "Agent",
            "hook_event_name": kind,
        }
        said["tool_input"] = {"prompt": TASK, "subagent_type": "fixer"}
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
        headers = {"Authorization": f"Bearer {token}", "mcp-memory-within-ms": "10000"}
        connection.request("POST", f"/hook/{event}", json.dumps(said), headers)
        return connection.getresponse().read().decode()

    with ThreadPoolExecutor(50) as pool:
        assert all(DECIDED in answer for answer in pool.map(ask, range(50)))
