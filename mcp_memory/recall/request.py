"""Checks the arguments of a recall against one another and the configuration. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_memory.errors import InvalidInput
from mcp_memory.recall.config import PhaseConfig, RecallConfig
from mcp_memory.search.filters import checked_query

MOST_NOTES = 100
"""Of one recall by ids."""

LEAST_TOKENS, MOST_TOKENS = 100, 200_000


@dataclass(frozen=True, slots=True)
class RecallPlan:
    """Notes by `targets` (ids and paths), or what fits `question`, or with neither what a session starts with."""

    budget_tokens: int
    targets: Sequence[str] = ()
    lines: str | None = None
    question: str | None = None
    kinds: Sequence[str] | None = None
    least_confidence: float = 0.0


def recall_plan(
    config: RecallConfig,
    *,
    query: str | None,
    ids: Sequence[str] | None,
    path: str | None,
    lines: str | None,
    phase: str | None,
    kinds: Sequence[str] | None,
    budget_tokens: int | None,
) -> RecallPlan:
    """Raises InvalidInput that says what to pass instead."""
    chosen = _phase(config, phase)
    whole_start = not (query or ids or path or phase)
    default = config.start_budget_tokens if whole_start else config.budget_tokens
    budget = budget_tokens if budget_tokens is not None else (chosen.budget_tokens if chosen else default)
    if not LEAST_TOKENS <= budget <= MOST_TOKENS:
        raise InvalidInput(f"budget_tokens is {budget}", hint="pass 100 to 200000; 2000 is a good start")
    if lines and (ids or not path):
        raise InvalidInput("lines goes with path alone", hint="pass the path of one note")
    if targets := list(dict.fromkeys([*(ids or ()), *([path] if path else ())])):
        if query or phase or kinds:
            raise InvalidInput("ids and path take no query, phase or kinds", hint="call twice")
        if len(targets) > MOST_NOTES:
            raise InvalidInput(f"{len(targets)} notes at once", hint=f"at most {MOST_NOTES}")
        return RecallPlan(budget, targets, lines)
    return RecallPlan(
        budget,
        question=checked_query(query) if query is not None and (query.strip() or not phase) else None,
        kinds=kinds or (chosen.kinds if chosen else None),
        least_confidence=chosen.least_confidence if chosen else 0.0,
    )


def _phase(config: RecallConfig, name: str | None) -> PhaseConfig | None:
    if not name:
        return None
    if chosen := config.phases.get(name):
        return chosen
    raise InvalidInput(f"unknown phase {name[:100]!r}", hint=f"known phases: {', '.join(config.phases)}")
