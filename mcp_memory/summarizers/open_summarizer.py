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
"""Provider → a function `(config, spent) -> Summarizer`; others through the group `mcp_memory.summarizer`."""


def open_summarizer(config: SummarizerConfig, spent: Path) -> Summarizer:
    """Opens `config.provider`, without asking it anything yet.

    `spent` is our file that counts what language models cost, created when needed. Raises ConfigInvalid for a setting
    that can never work and ExtraMissing for a provider that is not installed.
    """
    return SUMMARIZERS.get(config.provider)(config, spent)
