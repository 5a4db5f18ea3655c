"""Configures the counting of use. Standard library only: `settings` imports this where milliseconds count."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UsageConfig:
    """Section `[usage]`; `configs/default.toml` documents each key."""

    keep_questions: bool = False
