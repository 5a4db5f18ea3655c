"""The report: what a run did, or would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_memory.models import NotePath


@dataclass(slots=True)
class Report:
    """Lines are for people."""

    run: str
    done: list[str] = field(default_factory=list[str])
    """A line a job."""
    kept: list[str] = field(default_factory=list[str])
    """What was brought up to date besides: pages of empty topics, lists of related ones, the map."""
    left: list[str] = field(default_factory=list[str])
    """What was not done, and why."""
    links: dict[NotePath, int] = field(default_factory=dict[NotePath, int])
    """Files that are not ours, and how many links in them lead to where something was; they are as they were."""
    waiting: int = 0
    """Fresh notes that stay where they are."""

    def count_links(self, found: Mapping[NotePath, int]) -> None:
        for path, count in found.items():
            self.links[path] = self.links.get(path, 0) + count
