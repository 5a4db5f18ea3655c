"""Choose an embedder by the name of its provider."""

from pathlib import Path

from mcp_memory.embedders.base import Embedder, EmbedderConfig, Progress
from mcp_memory.embedders.providers import LOCAL, SERVICES
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.runtime.backend_registry import Registry

EMBEDDERS = Registry(
    "embedder",
    {
        **dict.fromkeys(LOCAL, "mcp_memory.embedders.sentence_transformer:open_auto"),
        **dict.fromkeys(SERVICES, "mcp_memory.embedders.openai_embeddings:open_endpoint"),
        "none": "mcp_memory.embedders.open_embedder:refuse",
    },
)
"""Provider → a function `(config, cache, progress) -> Embedder`; others through the group `mcp_memory.embedder`."""


def open_embedder(config: EmbedderConfig, cache: Path, progress: Progress | None = None) -> Embedder:
    """Open `config.provider`; takes some seconds if the bundled model has to be compiled first.

    `cache` is our folder for the compiled model and downloaded ones. Raises ConfigInvalid for a setting that can never
    work, ExtraMissing for a provider that isn't installed, and EmbedderUnavailable if no model can be used now, so that
    searches answer with keywords."""
    return EMBEDDERS.get(config.provider)(config, cache, progress or _silence)


def refuse(config: EmbedderConfig, cache: Path, progress: Progress) -> Embedder:  # noqa: ARG001 -- a provider's signature
    """Refuse to embed: the provider `none`."""
    raise EmbedderUnavailable("embeddings are turned off", hint='embedder.provider = "none"')


def _silence(_: str) -> None:
    pass
