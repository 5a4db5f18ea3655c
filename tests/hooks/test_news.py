"""Two sessions at work at once, over HTTP and with the hook program: each gets what the other has stored, once."""

from __future__ import annotations

from mcp_memory.client.connection import Address
from tests.daemon.place import Place, Running
from tests.daemon.wire import Wire
from tests.hooks.client import Session

TIDE = "The tide mill at Bohus runs from the ebb at four."
QUESTION = "when does the tide mill at Bohus run"


def test_two_sessions_of_two_clients(served: Place):
    running = Running(served, Address.read(served.state.daemon))
    mine, theirs = Session(served, "a1", "claude-code"), Session(served, "b2", "codex")
    mine.start()
    theirs.start()
    with Wire(running, client="codex", era="2026-07-28") as codex:
        stored = codex.tool("memory_append", {"content": TIDE, "kind": "fact", "session": "b2"})["structuredContent"]
    assert mine.prompt("write a haiku about steam") == ""
    said = mine.prompt(QUESTION)
    assert said.count(TIDE) == 1
    assert mine.prompt(QUESTION) == ""
    assert theirs.prompt(QUESTION) == "", "it has written that itself"
    with Wire(running, client="claude-code") as claude:
        claude.tool("memory_forget", {"id": stored["id"]})
        better = "The tide mill at Bohus runs from the ebb at five."
        claude.tool("memory_append", {"content": better, "kind": "preference", "session": "a1"})
    assert better in theirs.prompt(QUESTION)
    assert better in Session(served, "c3", "openclaw").start()
