"""Section `[watch]`. Standard library only: `settings` imports it."""

from dataclasses import dataclass

from mcp_memory.constants import constant


@dataclass(frozen=True)
class WatchConfig:
    """The times of sweeps; file-system events only make the next sweep come sooner."""

    hints: bool = True
    active_sweep_s: float = 15.0
    debounce_s: float = constant(1.5)
    """The wait after the last event before a sweep: editors and sync clients write in bursts …"""
    longest_wait_s: float = constant(10.0)
    """… but never longer than this after the first event."""
    idle_sweep_s: float = constant(30.0)
    """The time between sweeps if events work and no client has called …"""
    idle_after_s: float = constant(300.0)
    """… for this long."""
