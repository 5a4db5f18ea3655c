"""Chooses a summarizer by the name of its provider."""

from pathlib import Path

from mcp_memory.runtime.backend_registry import Registry
from mcp_memory.summarizers.base import Summarizer
from mcp_memory.summarizers.config import SummarizerConfig

SUMMARIZERS = Registry(
    "summarizer",
    {
        "extractive": "mcp_memory.summarizers.extractive:open_extractive",
        "openai": "mcp_memory.summarizers.openai_chat:open_endpoint",
        "command": "mcp_memory.summarizers.command:open_command",
    },
)
"""Maps a provider to a function `(config, spent) -> Summarizer`; plugins use the entry point group
`mcp_memory.summarizer`."""


def open_summarizer(config: SummarizerConfig, spent: Path) -> Summarizer:
    """Open the summarizer of `config.provider` without calling a model.

    `spent` is our file that counts the cost of language models, created when needed. Raises ConfigInvalid for a setting
    that can never work, and ExtraMissing for a provider that isn't installed."""
    return SUMMARIZERS.get(config.provider)(config, spent)
