"""Configures the topic tree.

Standard library only: `settings` imports this on the paths that must start in milliseconds.
"""

from dataclasses import dataclass

from mcp_memory.constants import constant


@dataclass(frozen=True)
class TopicsConfig:
    """Section `[topics]`."""

    automatic: bool = True
    """Whether the daemon compacts automatically."""
    fresh_tail_count: int = 0
    """The number of newest notes that aren't filed yet. Larger values leave more notes without a topic, and the groups
    don't improve (`tests/eval/topics/household.txt`)."""
    condensed_min_fanout: int = 4
    """The minimum number of topics for a new parent."""
    quiet_s: float = constant(60.0)
    """Compaction starts after this time without changes …"""
    longest_wait_s: float = constant(900.0)
    """… or after this time since the first change."""
    leaf_cosine: float = constant(0.15)
    """The minimum mean cosine between the `topic_vectors` of a topic's notes (average linkage), -1 to 1."""
    by_subject: bool = constant(True)
    """Whether the notes of a topic share a subject or rare words. Otherwise, any similar notes make a topic."""
    min_leaves: int = constant(3)
    """The minimum number of similar notes for a topic."""
    max_leaves: int = constant(16)
    """A list that is read at a glance; likewise `max_topics`."""
    topic_cosine: float = constant(0.5)
    """The minimum mean cosine between the centroids of topics under a common parent."""
    max_topics: int = constant(16)
    max_depth: int = constant(6)
    """The levels of folders: beyond, a path is too long to read."""
