"""Configures how notes are cut into chunks.

Standard library only: `settings` imports this on the paths that must start in milliseconds.
"""

from dataclasses import dataclass

from mcp_memory.constants import constant
from mcp_memory.errors import ConfigInvalid

CHUNKER_VERSION = 2
"""The version of the cutting. Increase it whenever the same text would be cut differently: indexes are then rebuilt."""


@dataclass(frozen=True)
class ChunkingConfig:
    """Section `[chunking]`. Raises ConfigInvalid for values that make no sense.

    The defaults found the most evidence on the evaluation sets; 400 and 80 tokens are the customary window."""

    strategy: str = "entry"
    window_tokens: int = 400
    overlap_tokens: int = 80
    join_chars: int = constant(300)
    """The length up to which entries under a common heading are joined."""
    max_chars: int = constant(1600)
    """The length from which entries are cut."""

    def __post_init__(self) -> None:
        if self.strategy not in {"entry", "window"}:
            raise ConfigInvalid(f"unknown chunking strategy {self.strategy!r}", hint="use entry or window")
        if not 0 <= self.join_chars <= self.max_chars or self.max_chars < 100:
            raise ConfigInvalid("chunking needs 0 <= join_chars <= max_chars and max_chars >= 100")
        if not 0 <= self.overlap_tokens <= self.window_tokens // 4 or self.window_tokens < 25:
            raise ConfigInvalid(
                "chunking needs window_tokens >= 25 and overlap_tokens from 0 to a quarter of window_tokens"
            )

    @property
    def fingerprint(self) -> str:
        """A string that is equal for configurations that give equal chunks."""
        if self.strategy == "window":
            return f"chunker{CHUNKER_VERSION}:window:{self.window_tokens}:{self.overlap_tokens}"
        return f"chunker{CHUNKER_VERSION}:entry:{self.join_chars}:{self.max_chars}"
