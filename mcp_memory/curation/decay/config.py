"""Configures decay. Standard library only: `settings` imports this where milliseconds count."""

from dataclasses import dataclass

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
