"""What a person can set about gleaning.

Standard library only: `settings` imports this on the paths that must start in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExtractionConfig:
    """Section `[gleaning]`; `configs/default.toml` documents each key."""

    automatic: bool = True
    """Whether sessions that are captured are gleaned."""
    at_once: bool = True
    """Whether what a person states outright counts at once."""
    at_once_score: float = 0.85
    least_score: float = 0.4
    language_model: bool = False
    """Whether the model of `[summarizer]` is asked, too. It then reads what the person said in their sessions."""
    many: int = 50
    """From so many waiting candidates on `doctor` speaks of them."""
