"""Configures decay and dreams. Standard library only: `settings` imports this where milliseconds count."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_memory.constants import constant


@dataclass(frozen=True, slots=True)
class DecayConfig:
    """Section `[decay]`; `configs/default.toml` documents each key."""

    archive_kinds: tuple[str, ...] = ()
    over_days: int = 30
    cold_days: int = constant(365)
    """The age from which a note that was never used is proposed, so a note of a yearly task has come up once."""
    always_load_days: int = constant(90)
    """The time after which a standing order that nothing has asked for is named: it costs each session's start."""


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


SECTIONS: Mapping[str, type[Any]] = {"decay": DecayConfig, "dreams": DreamsConfig}
