"""What you are told when memory is out: one line with what to do, once a session, and nothing otherwise."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mcp_memory.errors import DeadlineExceeded
from mcp_memory.hooks.briefing_answers import answer_prompt, answer_start
from mcp_memory.hooks.deadline import Deadline
from mcp_memory.hooks.hook_call import HookCall
from mcp_memory.hooks.hook_command import TURN, hook
from mcp_memory.hooks.hook_input import HookInput
from mcp_memory.settings.settings import HooksConfig
from tests.daemon.place import START_S, Place, eventually
from tests.hooks.client import Session


def told(session: Session, event: str, **more: str) -> str:
    """The line for the person; empty for none."""
    said = {**session.said(event), "prompt": "which colour has the sky?"}
    return json.loads(session.run(event, json.dumps(said).encode(), **more) or "{}").get("systemMessage", "")


def test_a_daemon_that_cannot_start(place: Place):
    place.vault.mkdir()
    with place.serving():
        pass
    shutil.rmtree(place.vault)
    place.vault.touch()
    log = place.state.log.with_name("start.log")
    assert told(Session(place, "first"), "session-start") == "", "it may be starting"
    eventually(lambda: log.exists() and "cannot open the vault" in log.read_text(), within_s=2 * START_S)
    second = Session(place, "second")
    line = told(second, "session-start")
    assert (
        line.startswith(f"Memory is out: cannot open the vault {place.vault}: Not a directory → ") and "\n" not in line
    )
    assert told(second, "prompt") == "", "once a session"
    third = Session(place, "third", "codex")
    assert [told(third, "prompt"), told(third, "prompt")] == [line, ""], "a session may have begun before"
    assert told(Session(place, "fourth", "my-editor"), "session-start") == "", "who knows what it would show"
    assert told(second, "stop") == ""


def test_settings_that_cannot_be_read(place: Place):
    broken = place.root / "broken.toml"
    broken.write_text("[hooks\n")
    line = told(Session(place, "s"), "session-start", MCP_MEMORY_CONFIG=str(broken))
    assert f"{broken} is not valid TOML" in line


def test_of_many_hooks_one_starts_the_daemon(place: Place, monkeypatch: pytest.MonkeyPatch):
    started: list[object] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    place.state.make()
    place.state.port.write_text("1")
    said = json.dumps(Session(place, "s").said("before-tool")).encode()

    def call(_: int) -> None:
        hook(["before-tool", "--client", "codex"], place.environ, lambda: said, print, Deadline(10_000))

    with ThreadPoolExecutor(50) as many:
        [*many.map(call, range(50))]
    assert len(started) == 1
    os.utime(place.state.root / TURN, (0, 0))
    call(0)
    assert len(started) == 2, "it may have failed"


def test_a_daemon_that_answers_says_what_is_wrong_with_the_vault(place: Place):
    place.vault.mkdir()
    with place.serving():
        place.run("append", "-k", "preference", "The heron likes green frogs.").ok()
        session = Session(place, "s")
        assert told(session, "session-start") == ""
        (place.vault / "_inbox").mkdir()
        (place.vault / "_inbox/oil.md").write_text("---\nkind: fact\n---\nThe weir is oiled in May.\n")
        waits = "Memory: 1 item waits for you: mcp-memory review"
        eventually(lambda: told(session, "session-start") == waits)  # a busy machine counts too late
        place.vault.rename(place.root / "elsewhere")
        place.run("doctor", "--reindex")
        line = told(session, "session-start")
        assert line.startswith("Memory is out: ") and "mount the disk" in line
        (place.root / "elsewhere").rename(place.vault)


STORED = "Memory stored from your sessions: ..."


def a_call(event: str, *, is_full: bool) -> HookCall:
    """A call of a session whose start has nothing new but what was stored, and whose prompt is answered too late."""

    async def perform(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if operation == "status":
            return {"pruning_paused": "", "read_only": False, "full": is_full, "vault": "/notes"}
        if "prompt" in arguments:
            raise DeadlineExceeded("too late")
        return {"text": "", "stored": STORED, "waiting": 0, "tokens": 0, "notes": ["a"], "degraded": None}

    async def project_of(folder: str, seconds: float) -> str | None:
        return None

    async def owes_start(client: str, session: str, project: str) -> set[str] | None:
        return {"a"}

    given = HookInput(json.dumps({"session_id": "s", "prompt": "which colour has the sky?"}).encode())
    return HookCall(event, "claude-code", given, 1000, {}, perform, project_of, owes_start, HooksConfig())


@pytest.mark.anyio
@pytest.mark.parametrize("is_full", [True, False])
@pytest.mark.parametrize(("event", "answer"), [("session-start", answer_start), ("prompt", answer_prompt)])
async def test_what_was_stored_is_said_with_a_fault_and_before_a_late_prompt(event: str, answer: Any, is_full: bool):
    line = json.loads(await answer(a_call(event, is_full=is_full)))["systemMessage"]
    assert STORED in line and line.startswith("Memory is out: the disk") is is_full
