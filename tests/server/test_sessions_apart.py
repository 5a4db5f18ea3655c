"""Two sessions of a daemon that keeps sessions apart, by the tools, the hooks and the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.place import Place, Running
from tests.daemon.wire import Wire
from tests.hooks.client import Session
from tests.support.topics import BREAD, SETTINGS

QUESTION = "when does sourdough bread go into the oven, and how hot is it"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder, on = tmp_path_factory.mktemp("apart"), {"MCP_MEMORY_RECALL_SESSIONS_APART": "true"}
    with (
        Place(folder, folder / "models", SETTINGS | on | {"MCP_MEMORY_EMBEDDER_PROVIDER": "auto"})
        .make()
        .started() as at
    ):
        yield at


def asked(wire: Wire, session: str, tool: str = "memory_recall", **arguments: str) -> str:
    """A call as Codex sends it."""
    given = {"name": tool, "arguments": arguments, "_meta": {"sessionId": session}}
    return wire.rpc("tools/call", given).json["result"]["content"][0]["text"]


def test_two_sessions_and_a_topic_that_is_shared(running: Running) -> None:
    place = running.place
    with Wire(running, client="codex") as wire:
        for text in BREAD:
            asked(wire, "chat-1", "memory_append", content=text)
        assert "230" in asked(wire, "chat-1", query=QUESTION) and "230" not in asked(wire, "chat-2", query=QUESTION)
        assert "230" not in asked(wire, "chat-2", "memory_search", query=QUESTION)
        assert "230" in wire.text("memory_recall", {"query": QUESTION, "session": "chat-1"}), (
            "the argument says it, too"
        )
        assert "230" in place.run("recall", QUESTION).ok().out, "a person sees all"
        place.run("topics", "compact").ok()
        assert "chat-2" in place.run("share", "session:chat-1", "--with", "chat-2").ok().out
        (grant,) = grants = place.run("share", "--json").ok().json["grants"]
        topic = grant["topic"]
        assert json.loads((place.vault / "_sessions.json").read_text()) == grants
        assert "230" in asked(wire, "chat-2", query=QUESTION) and "230" not in asked(wire, "chat-3", query=QUESTION)
        assert "230" in Session(place, "chat-2").prompt(QUESTION)
        assert "230" not in Session(place, "chat-3").prompt(QUESTION)
        assert wire.api("grants", {"topic": topic, "session": "chat-3"}).status == 403, "only a person shares"
        assert "no topic is shared" in place.run("share", topic, "--with", "chat-2", "--revoke").ok().out
        assert "230" not in asked(wire, "chat-2", query=QUESTION)


def test_a_hook_names_the_session_in_each_call_of_a_tool(running: Running) -> None:
    for tool in ("memory_search", "memory_recall", "memory_append", "memory_forget"):
        said = {"session_id": "chat-1", "tool_name": f"mcp__memory__{tool}", "tool_input": {"query": "x"}}
        answer = Session(running.place, "chat-1").run("before-tool", json.dumps(said).encode())
        assert json.loads(answer)["hookSpecificOutput"]["updatedInput"]["session"] == "chat-1"


def test_what_share_needs(running: Running, tmp_path: Path) -> None:
    place = running.place
    for wrong in (
        ("tea",),
        ("--to", str(tmp_path)),
        ("tea", "--to", str(tmp_path), "--with", "chat-2"),
        ("--with", "chat-2"),
    ):
        ran = place.run("share", *wrong)
        assert ran.code and "name a topic" in ran.err
