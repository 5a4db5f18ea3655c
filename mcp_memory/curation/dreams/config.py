"""Configures dreaming. Standard library only: `settings` imports this where milliseconds count."""

from dataclasses import dataclass

from mcp_memory.constants import constant


@dataclass(frozen=True, slots=True)
class DreamsConfig:
    """Section `[dreams]`; `configs/default.toml` documents each key."""

    auto_promote: float = 0.0
    min_days: int = constant(3)
    """The number of days on which it was said or used: two may be one piece of work."""
    min_recalled: int = constant(3)
    """The number of times a note must have been found or given, …"""
    min_questions: int = constant(2)
    """… and the number of different questions."""
    min_score: float = constant(0.55)
    """The least `1 - .75 ** (days + questions)`: three days are .58."""
    most_proposed: int = constant(20)
    """The most proposals of a run, which a person reads in some minutes."""
