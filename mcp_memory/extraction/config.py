"""Section `[extraction]`.

Standard library only: `settings` imports this on the paths that must start in milliseconds.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExtractionConfig:
    """`configs/default.toml` documents each key."""

    automatic: bool = True
    """Whether candidates are extracted from captured sessions."""
    auto_accept: bool = True
    """Whether what you state outright is stored without review."""
    auto_accept_score: float = 0.85
    min_score: float = 0.4
    language_model: bool = False
    """Whether the model of `[summarizer]` is asked as well. It then reads what you said in your sessions."""
    model: str = ""
    """Of the same endpoint, for this alone, such as a cheaper one; its calls are counted apart, within the same limits.
    Empty: that of `[summarizer]`."""
    review_reminder: int = 50
    """`doctor` reports this many waiting candidates or more."""
