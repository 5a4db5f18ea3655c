"""Section `[capture]`. Standard library only: `settings` imports it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

SHIPPED_FOLDERS: Mapping[str, str] = {
    "claude-code": "~/.claude/projects",
    "codex": "~/.codex/sessions",
    "openclaw": "~/.openclaw/agents",
    "gemini": "~/.gemini/tmp",
}
"""The folders of each client's transcripts; nothing else is read."""


@dataclass(frozen=True)
class CaptureConfig:
    """Section `[capture]`."""

    enabled: bool = True
    keep_days: int = 90
    keep_bytes: int = 200_000_000
    folders: Mapping[str, str] = field(default_factory=dict[str, str])
    """Folders by client, which override the shipped ones."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "folders", {**SHIPPED_FOLDERS, **self.folders})
