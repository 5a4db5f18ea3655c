"""Section `[watch]`. Standard library only: `settings` imports it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WatchConfig:
    """The times of sweeps; file-system events only make the next sweep come sooner."""

    hints: bool = True
    debounce_s: float = 1.5
    longest_wait_s: float = 10.0
    active_sweep_s: float = 15.0
    idle_sweep_s: float = 30.0
    idle_after_s: float = 300.0
