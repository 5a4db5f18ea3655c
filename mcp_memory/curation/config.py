"""Configures decay and dreams. Standard library only: `settings` imports this where milliseconds count."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DecayConfig:
    """Section `[decay]`; `configs/default.toml` documents each key."""

    archive_kinds: tuple[str, ...] = ()
    over_days: int = 30


@dataclass(frozen=True)
class DreamsConfig:
    """Section `[dreams]`; `configs/default.toml` documents each key."""

    auto_promote: float = 0.0


SECTIONS: Mapping[str, type[Any]] = {"decay": DecayConfig, "dreams": DreamsConfig}
