"""Configures how notes are cut into chunks."""

from dataclasses import dataclass

CHUNKER_VERSION = 2
"""The version of the cutting. Increase it whenever the same text would be cut differently: indexes are then rebuilt."""


@dataclass(frozen=True)
class ChunkingConfig:
    """The sizes of chunks. They found the most evidence on the evaluation sets."""

    join_chars: int = 300
    """The length up to which entries under a common heading are joined."""
    max_chars: int = 1600
    """The length from which entries are cut."""

    @property
    def fingerprint(self) -> str:
        """A string that is equal for configurations that give equal chunks."""
        return f"chunker{CHUNKER_VERSION}:entry:{self.join_chars}:{self.max_chars}"
