"""Section `[index]`. Standard library only: `settings` imports it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """The index engine."""

    engine: str = "sqlite"
    """A name that `index.INDEXES` knows."""
