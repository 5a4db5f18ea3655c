"""Configures extraction.

Standard library only: `settings` imports this on the paths that must start in milliseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mcp_memory.constants import constant


@dataclass(frozen=True)
class ExtractionConfig:
    """Section `[extraction]`; `configs/default.toml` documents each key."""

    automatic: bool = True
    """Whether candidates are extracted from captured sessions."""
    auto_accept: bool = True
    """Whether outright statements are stored without review."""
    reader: Literal["claude", "codex", "gemini", "endpoint", "none"] = "none"
    """The language model that reads your sessions, logs and notes: an agent program of yours, or the endpoint of
    `[summarizer]`. Its calls are counted apart from summaries, within the same limits."""
    reader_model: str = ""
    """Empty for the model that the program uses anyway, or for the endpoint's in `[summarizer]`."""
    min_score: float = constant(0.4)
    """The least score to be proposed."""


SECTIONS: Mapping[str, type[Any]] = {"extraction": ExtractionConfig}
