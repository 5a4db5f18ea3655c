"""The Anthropic Messages API, as far as a coding agent uses it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.clients.stubs.script import Reply, Tool, Turn
from tests.clients.stubs.server import Json, ModelStub, event, texts_of

_USAGE = {"input_tokens": 1, "output_tokens": 1}
_TEXT = frozenset({"text"})


class AnthropicStub(ModelStub):
    """`POST /v1/messages`, streamed or not, and the token count."""

    def __init__(self, log: Path) -> None:
        super().__init__(log)
        self._numbers = itertools.count(1)

    def read_turn(self, path: str, body: Json) -> Turn | None:
        if not path.endswith("/messages"):
            return None
        messages = body["messages"]
        blocks = [block for m in messages if isinstance(m["content"], list) for block in m["content"]]
        results = [block for block in blocks if block["type"] == "tool_result"]
        return Turn(
            tools=[Tool(tool["name"]) for tool in body.get("tools", ())],
            prompts=[text for m in messages if m["role"] == "user" for text in texts_of(m["content"], _TEXT)],
            calls_made=sum(block["type"] == "tool_use" for block in blocks),
            results=["".join(texts_of(block.get("content"), _TEXT)) for block in results],
        )

    def render(self, path: str, body: Json, reply: Reply) -> Json | Iterable[str]:
        message = {
            "id": f"msg_{next(self._numbers)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [self._block(reply)],
            "stop_reason": "tool_use" if reply.tool else "end_turn",
            "stop_sequence": None,
            "usage": _USAGE,
        }
        return _events(message) if body.get("stream") else message

    def render_other(self, path: str) -> Json:
        return {"input_tokens": 1} if path.endswith("/count_tokens") else {"data": []}

    def _block(self, reply: Reply) -> Json:
        if reply.tool is None:
            return {"type": "text", "text": reply.text}
        number = next(self._numbers)
        return {"type": "tool_use", "id": f"toolu_{number}", "name": reply.tool.name, "input": reply.arguments}


def _events(message: Json) -> Iterator[str]:
    block = message["content"][0]
    if block["type"] == "text":
        opening, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        opening, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    for payload in (
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {**block, **opening}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": _USAGE},
        {"type": "message_stop"},
    ):
        yield event(payload, payload["type"])
