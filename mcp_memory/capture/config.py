"""Section `[capture]`. Standard library only: `settings` imports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SHIPPED_FOLDERS: Mapping[str, str] = {
    "claude-code": "~/.claude/projects",
    "codex": "~/.codex/sessions",
    "openclaw": "~/.openclaw/agents",
}
"""Where each client keeps its transcripts: nothing else is read."""


@dataclass(frozen=True, slots=True)
class CaptureConfig:
    """Section `[capture]`."""

    enabled: bool = True
    tool_output: bool = False
    """Whether leaves hold what tools gave back."""
    min_bytes: int = 100_000
    """So much more in a transcript is captured while a turn goes on …"""
    min_messages: int = 50
    """… and so many more messages."""
    keep_days: int = 90
    keep_bytes: int = 200_000_000
    folders: Mapping[str, str] = field(default_factory=dict[str, str])
    """The user's own take the place of the shipped ones."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "folders", {**SHIPPED_FOLDERS, **self.folders})
