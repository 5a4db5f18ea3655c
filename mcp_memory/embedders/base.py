"""The port that every embedder implements, and the configuration that chooses one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

Progress = Callable[[str], None]
"""Called with one line of plain text per step."""


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    """Section `[embedder]` of the configuration; `configs/default.toml` documents each key."""

    provider: str = "auto"
    model: str = ""
    precision: str = "int8"
    batch_size: int = 8
    """Texts in one run of the torch fallback; the compiled engine runs them one by one."""
    threads: int = 0
    """Simultaneous runs of the compiled engine; 0 = one per core, at most 8."""
    hub_timeout_s: float = 10.0
    compile_timeout_s: float = 600.0
    endpoint: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    timeout_s: float = 30.0
    unload_after_s: float = 900.0
    """A model in this process is unloaded after so long without a text; 0 = never."""
    query_prompt: str = ""
    document_prompt: str = ""


@dataclass(frozen=True, slots=True)
class SentenceInContext:
    """A sentence that somebody says; any of the others may be empty. `answered`: what it answers; `before` and `after`:
    what stands there in its message."""

    text: str
    answered: str
    before: str
    after: str


class Embedder(Protocol):
    """Thread-safe. All vectors are float32 with Euclidean length 1."""

    @property
    def fingerprint(self) -> str:
        """Model, revision, pooling, prompts and precision in one line: equal fingerprints, equal vectors."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def resident(self) -> bool:
        """Whether it occupies this process's memory, so that unloading it while idle is worthwhile."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), in the order of the texts. Raises EmbedderUnavailable."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Shape (dimension,). Raises EmbedderUnavailable."""
        ...

    def inner_states(self, texts: Sequence[str]) -> Vectors | None:
        """Shape (len(texts), states), not unit vectors: what the model's middle layers make of the texts, which says
        more of how something is put than its last one. None if it shows none. Raises EmbedderUnavailable."""
        ...

    def states_in_context(self, sentences: Sequence[SentenceInContext]) -> Vectors | None:
        """Shape (len(sentences), states): what a model that is adapted to it makes of sentences where they stand. None
        if it isn't. Raises EmbedderUnavailable."""
        ...

    def close(self) -> None:
        """Frees the model; idempotent."""
        ...
