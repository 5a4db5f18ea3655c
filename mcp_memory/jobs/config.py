"""Configures background jobs. Standard library only: `settings` imports this where milliseconds count."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time

from mcp_memory.errors import ConfigInvalid


@dataclass(frozen=True, slots=True)
class JobsConfig:
    """Section `[jobs]`; `configs/default.toml` documents each key."""

    enabled: bool = True
    at: str = "03:30"
    times: Mapping[str, str] = field(default_factory=dict[str, str])
    off: tuple[str, ...] = ()

    def time_of_day(self, job: str) -> time:
        """Return when a daily job runs, in the vault's zone. Raises ConfigInvalid."""
        key, value = (f"times.{job}", self.times[job]) if job in self.times else ("at", self.at)
        try:
            return time.fromisoformat(value).replace(tzinfo=None)
        except ValueError:
            raise ConfigInvalid(f"jobs.{key} is {value!r}", hint='use a time of day like "03:30"') from None
