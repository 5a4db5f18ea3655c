"""The port that every embedder implements, and the configuration that chooses one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mcp_memory.constants import constant

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

Progress = Callable[[str], None]
"""A function that is called with one line of plain text per step."""


@dataclass(frozen=True)
class EmbedderConfig:
    """Section `[embedder]` of the configuration; `configs/default.toml` documents each key."""

    provider: str = "auto"
    model: str = ""
    endpoint: str = ""
    api_key_env: str = ""
    timeout_s: float = 30.0
    unload_after_s: float = 900.0
    """The seconds without a text after which a model in this process is unloaded; 0 = never."""
    query_prompt: str = ""
    document_prompt: str = ""
    hub_timeout_s: float = constant(10.0)
    """The time for reaching the hub, which is asked last: a machine without a network must start soon."""
    compile_timeout_s: float = constant(600.0)
    """The time for compiling the bundled model, once, or for downloading another one."""


@dataclass(frozen=True)
class SentenceInContext:
    """A sentence that somebody says, with its context. Any of the other texts may be empty. `answered`: the text that
    the sentence answers. `before` and `after`: the text around it in its message."""

    text: str
    answered: str
    before: str
    after: str


class Embedder(Protocol):
    """An embedder. All vectors are float32 with Euclidean length 1. Thread-safe."""

    @property
    def fingerprint(self) -> str:
        """Model, revision, pooling, prompts and precision in one line: equal fingerprints, equal vectors."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def resident(self) -> bool:
        """Whether the embedder occupies this process's memory, so that unloading it while idle is worthwhile."""
        ...

    @property
    def texts_at_once(self) -> int:
        """The most texts of one call, which must be embedded well within two minutes."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed texts: shape (len(texts), dimension), in their order. Raises EmbedderUnavailable."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Embed a question: shape (dimension,). Raises EmbedderUnavailable."""
        ...

    def inner_states(self, texts: Sequence[str]) -> Vectors | None:
        """Return the states of the model's middle layers, which reflect the wording of the texts better than its last
        layer: shape (len(texts), states), not unit vectors. None if the model doesn't show them. Raises
        EmbedderUnavailable."""
        ...

    def states_in_context(self, sentences: Sequence[SentenceInContext]) -> Vectors | None:
        """Return the states of sentences in their context, by a model that is adapted to it: shape (len(sentences),
        states). None if it isn't adapted. Raises EmbedderUnavailable."""
        ...

    def close(self) -> None:
        """Free the model; idempotent."""
        ...


class WithoutStates:
    """An embedder whose model shows no states."""

    def inner_states(self, texts: Sequence[str]) -> None:  # noqa: ARG002 - of the protocol
        return None

    def states_in_context(self, sentences: Sequence[SentenceInContext]) -> None:  # noqa: ARG002 - of the protocol
        return None
