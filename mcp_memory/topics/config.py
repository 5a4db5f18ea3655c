"""Configures the topic tree.

Standard library only: `settings` imports this on the paths that must start in milliseconds.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TopicsConfig:
    """Section `[topics]`."""

    automatic: bool = True
    """Whether the daemon compacts by itself."""
    quiet_s: float = 60.0
    """It starts after this long without changes …"""
    longest_wait_s: float = 900.0
    """… or this long after the first change."""
    fresh_tail_count: int = 0
    """This many of the newest notes aren't filed yet. With 0, 8 and 32, one of 39 notes after the other, 77, 59 and 0 %
    are in a topic at the end, and the groups are no better (`tests/eval/topics/household.txt`)."""
    leaf_cosine: float = 0.11
    """The least mean cosine between the `topic_vectors` of the notes of a topic (average linkage), -1 to 1."""
    shared_words: float = 0.75
    """The least share of the notes which found a topic that have a word of their titles or tags in common, if they
    don't share a subject; 0 = any similar notes found one."""
    min_leaves: int = 3
    """Fewer similar notes don't make a topic."""
    max_leaves: int = 16
    topic_cosine: float = 0.5
    """The least mean cosine between the centroids of topics under one parent."""
    condensed_min_fanout: int = 4
    """Fewer topics side by side get no parent."""
    max_topics: int = 16
    max_depth: int = 6
    map_tokens: int = 2000
    """The length of the map of all topics, `_index.md`."""
