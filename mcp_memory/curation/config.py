"""Configures decay. Standard library only: `settings` imports this where milliseconds count."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DecayConfig:
    """Section `[decay]`; `configs/default.toml` documents each key."""

    archive_kinds: tuple[str, ...] = ()
    over_days: int = 30


SECTIONS: Mapping[str, type[Any]] = {"decay": DecayConfig}
