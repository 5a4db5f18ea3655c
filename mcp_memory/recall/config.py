"""Section `[recall]` and its phases. Standard library only: `settings` imports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_memory.search.confidence_config import IRRELEVANT, UNWANTED


@dataclass(frozen=True, slots=True)
class PhaseConfig:
    """One table `[recall.phases.<name>]`: what an agent needs in one phase of its work."""

    budget_tokens: int = 2000
    kinds: tuple[str, ...] = ()
    """Empty = all kinds."""
    least_confidence: float = 0.0
    """0 to 1: below it, the answer is that nothing relevant is stored."""
    least_relevance: float = 0.0
    """0 to 1: passages that are less likely to help are left out."""


SHIPPED_PHASES: Mapping[str, PhaseConfig] = {
    "start": PhaseConfig(4000),
    "prompt": PhaseConfig(1000, least_confidence=UNWANTED, least_relevance=IRRELEVANT),
    "plan": PhaseConfig(3000, ("decision", "preference", "workflow", "lesson", "fact", "note", "log")),
    "build": PhaseConfig(2000, ("workflow", "preference", "decision", "reference", "skill", "note")),
    "debug": PhaseConfig(2000, ("fix", "lesson", "fact", "reference", "note", "log")),
    "review": PhaseConfig(2000, ("preference", "decision", "lesson", "workflow", "note")),
}


@dataclass(frozen=True, slots=True)
class RecallConfig:
    """Section `[recall]`."""

    budget_tokens: int = 2000
    start_budget_tokens: int = 4000
    log_days: int = 2
    """How many daily logs, today's first, a session start shows."""
    topic_pages: bool = True
    """Whether a question about a topic as a whole gets its page first."""
    phases: Mapping[str, PhaseConfig] = field(default_factory=dict[str, PhaseConfig])
    """Yours are added to the shipped ones; one of the same name replaces it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "phases", {**SHIPPED_PHASES, **self.phases})
