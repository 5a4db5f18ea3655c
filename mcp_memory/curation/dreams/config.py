"""Configures dreaming. Standard library only: `settings` imports this where milliseconds count."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DreamsConfig:
    """Section `[dreams]`; `configs/default.toml` documents each key."""

    min_days: int = 3
    min_recalled: int = 3
    min_questions: int = 2
    min_score: float = 0.55
    auto_promote: float = 0.0
    most_proposed: int = 20
