"""Embed texts through an endpoint with OpenAI's protocol: one of `providers`, vLLM, llama.cpp or LM Studio.

The only embedder that sends texts away, and only to the configured endpoint.
"""

from __future__ import annotations

import email.utils
import os
import random
import re
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_memory.embedders.base import EmbedderConfig, Progress, WithoutStates
from mcp_memory.embedders.inputs import prepared, prompts_mark
from mcp_memory.embedders.providers import Service, fill_in
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.runtime import model_endpoint, telemetry

if TYPE_CHECKING:
    import httpx2

    from mcp_memory.models import Vectors

MAX_CHARS = 8_000
"""The most characters of a text. OpenAI refuses inputs over 8,192 tokens; few scripts need more than one token per
character."""
FIRST_PAUSE_S = 0.25
"""The first wait, doubled after each failure, then multiplied by a random factor between 0.5 and 1."""


def open_endpoint(config: EmbedderConfig, cache: Path, progress: Progress) -> OpenAIEmbedder:  # noqa: ARG001 -- a provider's signature
    """Call the endpoint once, to learn the dimension. Raises ConfigInvalid, EmbedderUnavailable."""
    filled, limits = fill_in(config)
    progress(f"asking {model_endpoint.public(filled.endpoint)} for {filled.model}")
    return OpenAIEmbedder(filled, limits, os.environ.get(filled.api_key_env, ""))


class OpenAIEmbedder(WithoutStates):
    """An `Embedder`; thread-safe, because an HTTP client is."""

    resident = False

    def __init__(self, config: EmbedderConfig, limits: Service, api_key: str) -> None:
        telemetry.switch_off()
        import httpx2

        self._config = config
        self._limits = limits
        self.texts_at_once = limits.texts
        self._url = config.endpoint.rstrip("/") + "/embeddings"
        self._place = model_endpoint.public(config.endpoint)
        self._closed = threading.Event()
        self._client = httpx2.Client(headers={"Authorization": f"Bearer {api_key}"} if api_key else {})
        self.dimension = 0
        try:
            self.dimension: int = self._request(["dimension"], is_awaited=True).shape[1]
        except BaseException:
            self._client.close()
            raise
        prompts = prompts_mark(config.query_prompt, config.document_prompt)
        self.fingerprint = f"{config.model}@{self._place} dimension={self.dimension} normalised prompts={prompts}"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        none: Vectors = np.empty((0, self.dimension), dtype=np.float32)
        return np.concatenate([none, *map(self._request, self._requests(texts))])

    def embed_query(self, text: str) -> Vectors:
        return self._request([_input(text, self._config.query_prompt)], is_awaited=True)[0]

    def close(self) -> None:
        """End waiting calls and close the connections; idempotent."""
        self._closed.set()
        self._client.close()

    def _requests(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Divide texts into requests within the service's limits."""
        inputs, size = list[str](), 0
        for text in (_input(text, self._config.document_prompt) for text in texts):
            if inputs and (len(inputs) == self.texts_at_once or size + len(text) > self._limits.chars):
                yield inputs
                inputs, size = [], 0
            inputs.append(text)
            size += len(text)
        if inputs:
            yield inputs

    def _request(self, inputs: list[str], *, is_awaited: bool = False) -> Vectors:
        """Make one call, repeated while the fault may be temporary and `timeout_s` allows; a call that somebody waits
        for isn't repeated if nothing listens there."""
        import httpx2

        body = {"model": self._config.model, "input": inputs, **self._limits.more}
        deadline = time.monotonic() + self._config.timeout_s
        pause_s = FIRST_PAUSE_S
        while True:
            if self._closed.is_set():
                raise EmbedderUnavailable("the embedder is closed")
            try:
                response = self._client.post(self._url, json=body, timeout=max(0.05, deadline - time.monotonic()))
            except (httpx2.TransportError, RuntimeError) as error:
                # The client raises a bare RuntimeError when it is closed during a call.
                fault, wanted_s = f"cannot be reached ({type(error).__name__})", None
                if is_awaited and isinstance(error, httpx2.ConnectError):
                    raise EmbedderUnavailable(f"{self._place} {fault}") from error
            else:
                status = response.status_code
                if status == 200:
                    return self._vectors(response, len(inputs))
                fault = f"answers {status}{model_endpoint.reason(response.content)}"
                if status not in (408, 409, 425, 429) and status < 500:
                    hints = model_endpoint.hints("embedder", self._config.model, self._config.api_key_env)
                    raise EmbedderUnavailable(f"{self._place} {fault}", hint=hints.get(status))
                wanted_s = retry_after_s(response.headers.get("Retry-After"), time.time())
            delay_s = wanted_s if wanted_s is not None else pause_s * random.uniform(0.5, 1)  # noqa: S311 -- jitter
            if time.monotonic() + delay_s >= deadline:
                raise EmbedderUnavailable(f"{self._place} {fault}", hint=f"tried for {self._config.timeout_s:g} s")
            self._closed.wait(delay_s)
            pause_s *= 2

    def _vectors(self, response: httpx2.Response, count: int) -> Vectors:
        """Return the vectors in the order of the texts, at unit length. Raises EmbedderUnavailable for any other
        answer."""
        import numpy as np

        try:
            data = sorted(response.json()["data"], key=lambda item: item["index"])
            indexes = [item["index"] for item in data]
            vectors: Vectors = np.array([item["embedding"] for item in data], dtype=np.float32)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise EmbedderUnavailable(f"{self._place} answers something other than embeddings") from error
        if indexes != list(range(count)):
            raise EmbedderUnavailable(f"{self._place} answers {len(indexes)} embeddings for {count} texts")
        if vectors.ndim != 2 or vectors.shape[1] == 0 or (self.dimension and vectors.shape[1] != self.dimension):
            raise EmbedderUnavailable(f"{self._place} answers embeddings of another dimension than {self.dimension}")
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            raise EmbedderUnavailable(f"{self._place} answers embeddings that are not finite or have no direction")
        return (vectors / lengths).astype(np.float32)


def retry_after_s(header: str | None, now: float) -> float | None:
    """Return the seconds to wait by a `Retry-After` header (RFC 9110, 10.2.3: seconds or a date), None if absent or
    invalid. `now` is Unix time in seconds."""
    if not header:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", header.strip()):
        return float(header)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _input(text: str, prompt: str) -> str:
    """Return the input; an empty one becomes one space, since OpenAI refuses it."""
    return prepared(text, prompt, MAX_CHARS).strip() or " "
