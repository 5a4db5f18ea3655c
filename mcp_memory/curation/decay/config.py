"""Configures decay. Standard library only: `settings` imports this where milliseconds count."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DecayConfig:
    """Section `[decay]`; `configs/default.toml` documents each key."""

    archive_kinds: tuple[str, ...] = ()
    over_days: int = 30
    cold_days: int = 365
    always_load_days: int = 90
