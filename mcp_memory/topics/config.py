"""Configures the topic tree.

Standard library only: `settings` imports this on the paths that must start in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TopicsConfig:
    """Section `[topics]`."""

    automatic: bool = True
    """Whether the daemon compacts by itself."""
    quiet_s: float = 60.0
    """How long nothing has changed before it does …"""
    longest_wait_s: float = 900.0
    """… or how long after the first change, if things never get quiet or little has come."""
    fresh_tail_count: int = 32
    """So many of the newest notes stay in `_fresh/`: what is being worked on is not filed away."""
    leaf_cosine: float = 0.3
    """The least mean cosine between the notes of a topic (average linkage), 0 to 1."""
    min_leaves: int = 3
    """Fewer notes found no topic: they wait for more of their kind."""
    max_leaves: int = 16
    topic_cosine: float = 0.5
    """The least mean cosine between the middles of topics under one parent."""
    condensed_min_fanout: int = 4
    """Fewer topics side by side get no parent."""
    max_topics: int = 16
    max_depth: int = 6
    map_tokens: int = 2000
    """The length of the map of all topics, `_index.md`; 4 characters a token."""
