"""Configures the topic tree.

Standard library only: `settings` imports this on the paths that must start in milliseconds.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TopicsConfig:
    """Section `[topics]`."""

    automatic: bool = True
    """Whether the daemon compacts automatically."""
    quiet_s: float = 60.0
    """Compaction starts after this time without changes …"""
    longest_wait_s: float = 900.0
    """… or after this time since the first change."""
    fresh_tail_count: int = 0
    """The number of newest notes that aren't filed yet. Larger values leave more notes without a topic, and the groups
    don't improve (`tests/eval/topics/household.txt`)."""
    leaf_cosine: float = 0.11
    """The minimum mean cosine between the `topic_vectors` of a topic's notes (average linkage), -1 to 1."""
    shared_words: float = 0.75
    """The minimum share of the notes of a new topic that have a word of their titles or tags in common, if they don't
    share a subject. With 0, any similar notes make a topic."""
    min_leaves: int = 3
    """The minimum number of similar notes for a topic."""
    max_leaves: int = 16
    topic_cosine: float = 0.5
    """The minimum mean cosine between the centroids of topics under a common parent."""
    condensed_min_fanout: int = 4
    """The minimum number of topics for a new parent."""
    max_topics: int = 16
    max_depth: int = 6
    map_tokens: int = 2000
    """The length of `_index.md`, the map of all topics."""
