"""Summarizes through an endpoint with OpenAI's protocol, such as OpenAI, Ollama, vLLM, llama.cpp or LM Studio.

Notes are sent only to the configured endpoint. Requests use only features that every such server accepts. They set no
temperature and no token limit, which some servers reject or name differently. The deadline, the limit on bytes read and
the check of the answer apply anyway.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mcp_memory.errors import ConfigInvalid, SummarizerUnavailable
from mcp_memory.runtime import model_endpoint, telemetry
from mcp_memory.summarizers.base import MOST_ANSWER_BYTES, LlmReply, Prompt
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.fallback import FallbackSummarizer
from mcp_memory.text.tokens import count_tokens

if TYPE_CHECKING:
    import anyio
    import httpx2

_POLL_S = 0.1
"""The interval at which a call checks whether it is closed."""


def open_endpoint(config: SummarizerConfig, spent: Path) -> FallbackSummarizer:
    """Open a summarizer without sending anything. Raises ConfigInvalid."""
    return FallbackSummarizer(open_client(config), config, spent)


def open_client(config: SummarizerConfig) -> OpenAIChat:
    """Open a client for a caller that waits for the answer: its calls aren't counted, and its failures cause no pause.
    Raises ConfigInvalid."""
    model_endpoint.check("summarizer", config.endpoint, config.model)
    api_key = os.environ.get(config.api_key_env, "").strip()
    if not (api_key.isascii() and api_key.isprintable()):
        raise ConfigInvalid(f"the environment variable {config.api_key_env} holds no key", hint="a key is one line")
    return OpenAIChat(config, api_key)


class OpenAIChat:
    """An `LlmClient` that makes a single call per answer; the caller retries later."""

    def __init__(self, config: SummarizerConfig, api_key: str) -> None:
        telemetry.switch_off()
        self._config = config
        self._place = model_endpoint.public(config.endpoint)
        self._headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {api_key}"} if api_key else {})
        self._closed = threading.Event()
        self.name = config.model

    def write(self, prompt: Prompt) -> LlmReply:
        import anyio
        import httpx2

        # Create the client before the deadline starts: on a busy machine, reading the certificates takes most of a
        # second.
        client = httpx2.AsyncClient(headers=self._headers, timeout=None)
        # With a separate event loop, the deadline ends the whole call even if the answer arrives byte by byte.
        outcome = anyio.run(self._within_deadline, client, prompt)
        if isinstance(outcome, SummarizerUnavailable):
            raise outcome
        return outcome

    def close(self) -> None:
        self._closed.set()

    async def _within_deadline(self, client: httpx2.AsyncClient, prompt: Prompt) -> LlmReply | SummarizerUnavailable:
        import anyio

        with anyio.move_on_after(self._config.timeout_s):
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch, group.cancel_scope)
                outcome = await self._request(client, prompt)
                group.cancel_scope.cancel()
                return outcome
        if self._closed.is_set():
            return SummarizerUnavailable("the summarizer is closed")
        return SummarizerUnavailable(f"{self._place} did not answer within {self._config.timeout_s:g} s")

    async def _watch(self, call: anyio.CancelScope) -> None:
        import anyio

        while not self._closed.is_set():  # noqa: ASYNC110 -- set in another thread, which has no event loop
            await anyio.sleep(_POLL_S)
        call.cancel()

    async def _request(self, client: httpx2.AsyncClient, prompt: Prompt) -> LlmReply | SummarizerUnavailable:
        import httpx2

        messages = [
            {"role": "system", "content": prompt.instructions},
            *({"role": role, "content": text} for role, text in prompt.turns),
            {"role": "user", "content": prompt.material},
        ]
        payload = {"model": self._config.model, "messages": messages, "stream": False}
        url = self._config.endpoint.rstrip("/") + "/chat/completions"
        try:
            async with client, client.stream("POST", url, json=payload) as response:
                body = await _body(response)
        except httpx2.HTTPError as error:
            return SummarizerUnavailable(f"{self._place} cannot be reached ({type(error).__name__})")
        if response.status_code != 200:
            hints = model_endpoint.hints("summarizer", self._config.model, self._config.api_key_env)
            fault = f"{self._place} answers {response.status_code}{model_endpoint.reason(body or b'')}"
            return SummarizerUnavailable(fault, hint=hints.get(response.status_code))
        if body is None:
            return LlmReply("", prompt.most_tokens, cut=True)
        what = f"{self._place} answers something other than a completion"
        return _read(body, prompt) or SummarizerUnavailable(what)


async def _body(response: httpx2.Response) -> bytes | None:
    """Return the body; None if it is longer than `MOST_ANSWER_BYTES`."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MOST_ANSWER_BYTES:
            return None
    return bytes(body)


def _read(body: bytes, prompt: Prompt) -> LlmReply | None:
    """Parse a completion; return None for any other body."""
    try:
        answer: Any = json.loads(body)
        choice = answer["choices"][0]
        content = choice["message"].get("content") or choice["message"].get("refusal") or ""
        cut = choice.get("finish_reason") == "length"
        usage = answer.get("usage")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None
    if not isinstance(content, str):
        return None
    stated: Any = cast("dict[str, Any]", usage).get("total_tokens") if isinstance(usage, dict) else None
    cost = stated if type(stated) is int and stated >= 0 else prompt.tokens + count_tokens(content)
    return LlmReply(content, cost, cut)
