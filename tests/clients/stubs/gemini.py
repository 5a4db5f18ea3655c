"""The Gemini API, as far as Gemini CLI uses it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tests.clients.stubs.script import Reply, Tool, Turn
from tests.clients.stubs.server import Json, ModelStub, event

_ROUTED = '{"reasoning": "stub", "model_choice": "flash", "complexity_reasoning": "stub", "complexity_score": 10}'
"""What Gemini CLI wants to hear when it asks a model which model to use."""


class GeminiStub(ModelStub):
    """`:generateContent` and `:streamGenerateContent`, and the token count."""

    def read_turn(self, path: str, body: Json) -> Turn | None:
        if not path.endswith("enerateContent"):
            return None
        parts = [(content.get("role"), part) for content in body["contents"] for part in content["parts"]]
        return Turn(
            tools=[
                Tool(each["name"]) for tool in body.get("tools", ()) for each in tool.get("functionDeclarations", ())
            ],
            prompts=[part["text"] for role, part in parts if role == "user" and "text" in part],
            calls_made=sum("functionCall" in part for _, part in parts),
            results=[
                json.dumps(part["functionResponse"]["response"]) for _, part in parts if "functionResponse" in part
            ],
        )

    def render(self, path: str, body: Json, reply: Reply) -> Json | Iterable[str]:
        part: Json = {"text": _ROUTED if body.get("generationConfig", {}).get("responseJsonSchema") else reply.text}
        if reply.tool:
            part = {"functionCall": {"name": reply.tool.name, "args": reply.arguments}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stub"}
        return [event(answer)] if ":stream" in path else answer

    def render_other(self, path: str) -> Json:
        return {"totalTokens": 1}
