"""The stubbed model itself: a proof by it is worth nothing if it would say the same to a client without tools."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

from tests.clients.stubs import AnthropicStub, OpenAIStub, call
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


def test_a_request_without_tools_is_no_step() -> None:
    turn = Turn(tools=[], prompts=[call("memory_search", query="x")], calls_made=0, results=[])
    assert reply_to(turn).text == FINISHED


def test_the_log_holds_what_was_offered_called_and_heard(tmp_path: Path) -> None:
    message = {"role": "user", "content": call("memory_search", query="x")}
    with AnthropicStub(tmp_path / "log.jsonl") as stub:
        said = _post(
            f"{stub.url}/v1/messages", model="m", messages=[message], tools=[{"name": "mcp__m__memory_search"}]
        )
        use = said["content"][0]
        result = {"type": "tool_result", "tool_use_id": use["id"], "content": [{"type": "text", "text": "no hits"}]}
        history = [message, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        said = _post(f"{stub.url}/v1/messages", model="m", messages=history, tools=[{"name": "mcp__m__memory_search"}])
        first, second = stub.exchanges
    assert first.called == "mcp__m__memory_search"
    assert first.arguments == {"query": "x"}
    assert second.results == ("no hits",)
    assert said["content"][0]["text"] == FINISHED


def test_chat_completions_are_understood_too(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "memory__memory_search"}}
    with OpenAIStub(tmp_path / "log.jsonl") as stub:
        prompt = {"role": "user", "content": call("memory_search", query="x")}
        said = _post(f"{stub.url}/v1/chat/completions", model="m", messages=[prompt], tools=[tool])
    assert said["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "memory__memory_search"


def _post(url: str, **body: object) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)
