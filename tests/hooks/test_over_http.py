"""`POST /hook/EVENT` as a client asks it that speaks HTTP itself, and as anybody else may."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import anyio
import pytest

from mcp_memory.client.connection import Address
from mcp_memory.core.project_finder import ProjectFinder
from mcp_memory.errors import DeadlineExceeded
from mcp_memory.hooks.hook_answer import COMPACTION
from mcp_memory.hooks.hook_command import FACTS, WITHIN_MS
from mcp_memory.projects.projects import Projects
from mcp_memory.runtime.threads import in_thread
from tests.daemon.place import Place, Running
from tests.daemon.wire import Answer, Wire
from tests.hooks.client import Session, logged
from tests.support.repositories import repository

FACT = "The staging database listens on port 5433."
QUESTION = "on which port does the staging database listen"
BY_COMMAND = {WITHIN_MS.replace("-", "_"): "5000"}


@pytest.fixture(scope="module")
def wire(served: Place) -> Iterator[Wire]:
    served.run("append", "-k", "fact", FACT).ok()
    with Wire(Running(served, Address.read(served.state.daemon)), client="claude-code") as connection:
        yield connection


def ask(wire: Wire, event: str, session: str, **headers: str) -> Answer:
    said = {"session_id": session, "cwd": "/", "prompt": QUESTION}
    return wire.send("POST", f"/hook/{event}", json.dumps(said).encode(), **headers)


@pytest.mark.parametrize(
    "session",
    ["a\r\nSet-Cookie: b", "\0\x1b[2J", "Größe 日本", "🦉" * 700, "\ud800", "/../../x", '"}{"'],
    ids=lambda name: ascii(name)[:20],
)
def test_what_a_client_calls_its_session_is_nothing_but_a_name(served: Place, wire: Wire, session: str) -> None:
    with logged(served) as lines:
        told = ask(wire, "prompt", session)
    assert told.status == 200 and FACT in told.text and FACTS not in told.headers
    (line,) = lines
    assert (line["event"], line["client"], line["session"]) == ("prompt", "claude-code", session[:500])
    again = ask(wire, "prompt", session, **BY_COMMAND)
    assert (again.status, again.body) == (200, b"") and "set-cookie" not in again.headers
    assert json.loads(again.headers[FACTS])["session"] == session[:500]


@pytest.mark.parametrize("event", ["none", "../api/doctor", "prompt/", "a\r\nb", "ü", "x" * 5000], ids=lambda e: e[:9])
def test_no_other_event_leads_anywhere(served: Place, wire: Wire, event: str) -> None:
    with logged(served) as lines:
        refused = ask(wire, quote(event, safe=""), "s")
    assert refused.status in {307, 400, 404} and FACT not in refused.text
    assert all(line["event"] == "" and line["outcome"] == "failed" for line in lines)


def test_without_a_token_nothing_is_told_or_noted(served: Place, wire: Wire) -> None:
    with logged(served) as lines:
        for token in (None, "wrong", "\xff"):
            assert ask(wire, "prompt", "unknown", token=token).status == 401
    assert lines == []


def test_what_cannot_be_logged_is_answered_all_the_same(served: Place, wire: Wire) -> None:
    log = served.state.hooks
    log.rename(log.with_name("aside"))
    log.mkdir()
    try:
        told = ask(wire, "prompt", "unlogged")
    finally:
        log.rmdir()
        log.with_name("aside").rename(log)
    assert told.status == 200 and FACT in told.text


def test_where_no_token_is_needed_one_still_tells_who_asks(place: Place) -> None:
    place = replace(place, more={**place.more, "MCP_MEMORY_DAEMON_AUTH": "none"})
    with place.started() as running, Wire(running) as anybody:
        session = Session(place, "s")
        assert session.run("pre-compact", json.dumps(session.said("pre-compact")).encode()) == COMPACTION
        assert ask(anybody, "stop", "s", token=None).status == 200
        assert anybody.api("doctor", token=None).status == 200, "without one it is the person"


def test_a_call_gets_the_project_of_its_folder(served: Place, wire: Wire) -> None:
    work, own = repository(served.root / "work" / "my-app"), repository(served.root / "personal" / "my-app")

    def added(folder: Path, **given: str) -> str | None:
        said = {"session_id": "s", "cwd": str(folder), "tool_name": "mcp__memory__memory_append", "tool_input": given}
        told = wire.send("POST", "/hook/before-tool", json.dumps(said).encode())
        return json.loads(told.body)["hookSpecificOutput"]["updatedInput"].get("project")

    assert [added(folder, content="Tea.") for folder in (work, own)] == ["my-app", "my-app (personal)"]
    assert added(own, content="Tea.", project="my-app") == "my-app (personal)"
    assert added(own, content="Tea.", project="shop") == "shop"
    assert added(own, content="prefer small diffs", kind="preference") is None
    assert added(own, content="prefer small diffs in src/a.py", kind="preference") == "my-app (personal)"


def test_hooks_that_are_switched_off_say_nothing(place: Place) -> None:
    place = replace(place, more={**place.more, "MCP_MEMORY_HOOKS_ENABLED": "false"})
    with place.started() as running, Wire(running) as wire, logged(place) as lines:
        told = ask(wire, "session-start", "s")
        assert (told.status, told.body) == (200, b"")
    assert lines == []


def test_a_disk_that_hangs_keeps_no_threads_from_other_work() -> None:
    """A dead network mount that an agent works in: each of its prompts looks there for the project."""
    back = threading.Event()

    class Hanging(Projects):
        def label_of(self, folder: str) -> str | None:
            back.wait(30)
            return folder

    async def work() -> None:
        finder = ProjectFinder(Hanging(Path("/mnt")))
        for _ in range(50):
            with pytest.raises(DeadlineExceeded):
                await finder.find("/mnt/dead", 0.02)
        assert await in_thread(lambda: "done", deadline_s=5, what="other work") == "done"
        back.set()

    anyio.run(work)
