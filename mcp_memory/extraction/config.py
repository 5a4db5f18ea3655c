"""Configures extraction.

Standard library only: `settings` imports this on the paths that must start in milliseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_memory.constants import constant


@dataclass(frozen=True, slots=True)
class ExtractionConfig:
    """Section `[extraction]`; `configs/default.toml` documents each key."""

    automatic: bool = True
    """Whether candidates are extracted from captured sessions."""
    auto_accept: bool = True
    """Whether outright statements are stored without review."""
    language_model: bool = False
    """Whether the model of `[summarizer]` is asked as well. It then reads your messages in your sessions."""
    model: str = ""
    """A model of the same endpoint, used only for extraction, such as a cheaper model. Its calls are counted
    separately, within the same limits. Empty for the model of `[summarizer]`."""
    min_score: float = constant(0.4)
    """The least score to be proposed."""


SECTIONS: Mapping[str, type[Any]] = {"extraction": ExtractionConfig}
