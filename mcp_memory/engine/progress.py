"""Progress of long work, for `status` and progress bars."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic


@dataclass(slots=True)
class Progress:
    """What long work is under way, for `status` and progress bars. `at` is in monotonic seconds."""

    phase: str = "idle"
    done: int = 0
    total: int = 0
    at: float = field(default_factory=monotonic)

    def step(self, phase: str, done: int = 0, total: int = 0) -> None:
        self.phase, self.done, self.total, self.at = phase, done, total, monotonic()
