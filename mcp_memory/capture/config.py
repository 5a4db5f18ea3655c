"""Section `[capture]`. Standard library only: `settings` imports it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

SHIPPED_FOLDERS: Mapping[str, str] = {
    "claude-code": "~/.claude/projects",
    "codex": "~/.codex/sessions",
    "openclaw": "~/.openclaw/agents",
    "gemini": "~/.gemini/tmp",
}
"""Where each client keeps its transcripts; nothing else is read."""


@dataclass(frozen=True, slots=True)
class CaptureConfig:
    """Section `[capture]`."""

    enabled: bool = True
    tool_output: bool = False
    """Whether captured pages include tool output."""
    min_bytes: int = 100_000
    """A transcript is captured during a turn once it has grown by this much …"""
    min_messages: int = 50
    """… or by this many messages."""
    idle_minutes: int = 30
    """A session that doesn't end is summarized once nothing was said for so long."""
    keep_days: int = 90
    keep_bytes: int = 200_000_000
    folders: Mapping[str, str] = field(default_factory=dict[str, str])
    """Overrides the shipped ones."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "folders", {**SHIPPED_FOLDERS, **self.folders})
