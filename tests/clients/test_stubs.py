"""The stubbed model itself: a proof by it is worth nothing if it would say the same to a client without tools."""

from __future__ import annotations

from tests.clients.stubs import call
from tests.clients.stubs.script import FINISHED, NOT_LISTED, Tool, Turn, reply_to


def test_a_tool_that_is_not_listed_is_not_called() -> None:
    turn = Turn(tools=[Tool("Read")], prompts=[call("memory_search", query="x")], calls_made=0, results=[])
    assert reply_to(turn).tool is None
    assert reply_to(turn).text == f"{NOT_LISTED} memory_search"


def test_the_steps_follow_one_another() -> None:
    prompts = ["Do this:\n" + call("memory_append", content="a\nb") + "\n" + call("memory_search", query="c")]
    tools = [Tool("mcp__memory__memory_append"), Tool("memory_search", namespace="mcp__memory__")]
    replies = [reply_to(Turn(tools, prompts, calls_made=made, results=[])) for made in range(3)]
    assert [reply.tool for reply in replies] == [*tools, None]
    assert replies[0].arguments == {"content": "a\nb"}
    assert replies[2].text == FINISHED
