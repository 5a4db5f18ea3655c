"""The OpenAI Responses and Chat Completions APIs, as far as coding agents use them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.clients.stubs.script import Reply, Tool, Turn
from tests.clients.stubs.server import Json, ModelStub, event, texts_of

_TEXT = frozenset({"text", "input_text", "output_text"})


class OpenAIStub(ModelStub):
    """`POST /v1/responses` and `POST /v1/chat/completions`, streamed or not."""

    def __init__(self, log: Path) -> None:
        super().__init__(log)
        self._numbers = itertools.count(1)

    def read_turn(self, path: str, body: Json) -> Turn | None:
        if path.endswith("/responses"):
            return _responses_turn(body)
        return _chat_turn(body) if path.endswith("/chat/completions") else None

    def render(self, path: str, body: Json, reply: Reply) -> Json | Iterable[str]:
        number = next(self._numbers)
        if path.endswith("/responses"):
            response = _response(number, body["model"], reply)
            return _response_events(response) if body.get("stream") else response
        completion = _completion(number, body["model"], reply)
        return _completion_events(completion) if body.get("stream") else completion

    def render_other(self, path: str) -> Json:
        return {"object": "list", "data": [], "models": []}


def _responses_turn(body: Json) -> Turn:
    items = body["input"]
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
    return Turn(
        tools=list(_responses_tools(body.get("tools") or ())),
        prompts=[text for item in items if item.get("role") == "user" for text in texts_of(item["content"], _TEXT)],
        calls_made=sum(item.get("type") == "function_call" for item in items),
        results=["".join(texts_of(output, _TEXT)) for output in outputs],
    )


def _responses_tools(listed: Iterable[Json]) -> Iterator[Tool]:
    """Codex groups the tools of one MCP server into a namespace; a call must name it too."""
    for entry in listed:
        if entry["type"] == "namespace":
            yield from (Tool(tool["name"], entry["name"]) for tool in entry["tools"])
        elif "name" in entry:
            yield Tool(entry["name"])


def _response(number: int, model: str, reply: Reply) -> Json:
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": model,
        "output": [_response_item(number, reply)],
        "usage": {**usage, **details},
    }


def _response_item(number: int, reply: Reply) -> Json:
    if reply.tool is None:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        return {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    namespace = {"namespace": reply.tool.namespace} if reply.tool.namespace else {}
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "status": "completed",
        "name": reply.tool.name,
        "arguments": json.dumps(reply.arguments),
        **namespace,
    }


def _response_events(response: Json) -> Iterator[str]:
    item = {"output_index": 0, "item": response["output"][0]}
    for payload in (
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", **item},
        {"type": "response.output_item.done", **item},
        {"type": "response.completed", "response": response},
    ):
        yield event(payload, payload["type"])


def _chat_turn(body: Json) -> Turn:
    messages = body["messages"]
    return Turn(
        tools=[Tool(tool["function"]["name"]) for tool in body.get("tools") or ()],
        prompts=[text for m in messages if m["role"] == "user" for text in texts_of(m["content"], _TEXT)],
        calls_made=sum(len(m.get("tool_calls") or ()) for m in messages),
        results=["".join(texts_of(m["content"], _TEXT)) for m in messages if m["role"] == "tool"],
    )


def _completion(number: int, model: str, reply: Reply) -> Json:
    message: dict[str, object] = {"role": "assistant", "content": reply.text or None}
    if reply.tool is not None:
        function = {"name": reply.tool.name, "arguments": json.dumps(reply.arguments)}
        message["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if reply.tool else "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _completion_events(completion: Json) -> Iterator[str]:
    """The usage comes alone, as OpenAI sends it: Continue skips a chunk that has it."""
    choice = completion["choices"][0]
    chunk = {**completion, "object": "chat.completion.chunk", "usage": None}
    for part in (
        {"index": 0, "delta": choice["message"], "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]},
    ):
        yield event({**chunk, "choices": [part]})
    yield event({**chunk, "choices": [], "usage": completion["usage"]})
    yield "data: [DONE]\n\n"
