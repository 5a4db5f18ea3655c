"""Embeddings from an endpoint that speaks OpenAI's protocol: OpenAI itself, Ollama, vLLM, llama.cpp, LM Studio, ….

The only embedder that sends texts away, and only to the endpoint that was configured.
"""

from __future__ import annotations

import email.utils
import os
import random
import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_memory.embedders.base import EmbedderConfig, Progress
from mcp_memory.embedders.inputs import prepared, prompts_mark
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.runtime import endpoint, telemetry

if TYPE_CHECKING:
    import httpx2

    from mcp_memory.models import Vectors

MAX_INPUTS = 96
"""Texts in one call: the least that a well-known service allows (Cohere; OpenAI takes 2,048)."""
MAX_CHARS = 8_000
"""OpenAI refuses inputs over 8,192 tokens; few scripts need more than one token a character."""
FIRST_PAUSE_S = 0.25
"""Doubled after each failure, and then anything from half to the whole of it."""


def open_endpoint(config: EmbedderConfig, cache: Path, progress: Progress) -> OpenAIEmbedder:
    """Asks the endpoint once, to learn the dimension. Raises ConfigInvalid or EmbedderUnavailable."""
    del cache
    endpoint.check("embedder", config.endpoint, config.model)
    progress(f"asking {endpoint.public(config.endpoint)} for {config.model}")
    return OpenAIEmbedder(config, os.environ.get(config.api_key_env, ""))


class OpenAIEmbedder:
    """Implements `Embedder`; thread-safe, because an HTTP client is."""

    resident = False

    def __init__(self, config: EmbedderConfig, api_key: str) -> None:
        telemetry.switch_off()
        import httpx2

        self._model = config.model
        self._url = config.endpoint.rstrip("/") + "/embeddings"
        self._place = endpoint.public(config.endpoint)
        self._api_key_env = config.api_key_env
        self._timeout_s = config.timeout_s
        self._query_prompt = config.query_prompt
        self._document_prompt = config.document_prompt
        self._closed = threading.Event()
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.Client(headers=headers)
        self._dimension = 0
        try:
            self._dimension = self._ask(["dimension"]).shape[1]
        except BaseException:
            self._client.close()
            raise

    @property
    def fingerprint(self) -> str:
        return (
            f"{self._model}@{self._place} dimension={self._dimension} normalised "
            f"prompts={prompts_mark(self._query_prompt, self._document_prompt)}"
        )

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), in the order given. Raises EmbedderUnavailable."""
        import numpy as np

        vectors = np.empty((len(texts), self._dimension), dtype=np.float32)
        for start in range(0, len(texts), MAX_INPUTS):
            batch = [_input(text, self._document_prompt) for text in texts[start : start + MAX_INPUTS]]
            vectors[start : start + len(batch)] = self._ask(batch)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Shape (dimension,). Raises EmbedderUnavailable."""
        return self._ask([_input(text, self._query_prompt)])[0]

    def close(self) -> None:
        """Ends waiting calls and closes the connections; idempotent."""
        self._closed.set()
        self._client.close()

    def _ask(self, inputs: list[str]) -> Vectors:
        """One call, repeated while the fault may pass and `timeout_s` allows."""
        import httpx2

        deadline = time.monotonic() + self._timeout_s
        pause_s = FIRST_PAUSE_S
        while True:
            if self._closed.is_set():
                raise EmbedderUnavailable("the embedder is closed")
            try:
                response = self._post(inputs, deadline)
            except (httpx2.TransportError, RuntimeError) as error:
                # The client raises a bare RuntimeError when it was closed under a call.
                fault, wanted_s = f"cannot be reached ({type(error).__name__})", None
            else:
                if response.status_code == 200:
                    return self._vectors(response, len(inputs))
                if not _may_pass(response.status_code):
                    raise self._refusal(response)
                fault = f"answers {response.status_code}{endpoint.reason(response.content)}"
                wanted_s = retry_after_s(response.headers.get("Retry-After"), time.time())
            delay_s = wanted_s if wanted_s is not None else pause_s * random.uniform(0.5, 1)  # noqa: S311 -- jitter
            if time.monotonic() + delay_s >= deadline:
                raise EmbedderUnavailable(f"{self._place} {fault}", hint=f"tried for {self._timeout_s:g} s")
            self._closed.wait(delay_s)
            pause_s *= 2

    def _post(self, inputs: list[str], deadline: float) -> httpx2.Response:
        return self._client.post(
            self._url,
            json={"model": self._model, "input": inputs, "encoding_format": "float"},
            timeout=max(0.05, deadline - time.monotonic()),
        )

    def _vectors(self, response: httpx2.Response, count: int) -> Vectors:
        """The answer's vectors by `index`, at unit length; anything odd about them is refused."""
        import numpy as np

        try:
            data = sorted(response.json()["data"], key=lambda item: item["index"])
            indexes = [item["index"] for item in data]
            vectors: Vectors = np.array([item["embedding"] for item in data], dtype=np.float32)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise EmbedderUnavailable(f"{self._place} answers something other than embeddings") from error
        if indexes != list(range(count)):
            raise EmbedderUnavailable(f"{self._place} answers {len(indexes)} embeddings for {count} texts")
        if vectors.ndim != 2 or vectors.shape[1] == 0 or (self._dimension and vectors.shape[1] != self._dimension):
            raise EmbedderUnavailable(f"{self._place} answers embeddings of another dimension than {self._dimension}")
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            raise EmbedderUnavailable(f"{self._place} answers embeddings that are not finite or have no direction")
        return (vectors / lengths).astype(np.float32)

    def _refusal(self, response: httpx2.Response) -> EmbedderUnavailable:
        hints = endpoint.hints("embedder", self._model, self._api_key_env)
        status = response.status_code
        return EmbedderUnavailable(
            f"{self._place} answers {status}{endpoint.reason(response.content)}", hint=hints.get(status)
        )


def retry_after_s(header: str | None, now: float) -> float | None:
    """Seconds to wait by a `Retry-After` header (RFC 9110, 10.2.3: seconds or a date), None where it says nothing.

    `now` is Unix time in seconds.
    """
    if not header:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", header.strip()):
        return float(header)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _may_pass(status: int) -> bool:
    return status in (408, 409, 425, 429) or status >= 500


def _input(text: str, prompt: str) -> str:
    """OpenAI refuses an empty input; one space stands for it."""
    return prepared(text, prompt, MAX_CHARS).strip() or " "
