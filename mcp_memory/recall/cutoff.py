"""Ends an answer where the scores of its passages drop, even if the budget has room for more. Pure functions."""

from collections.abc import Sequence
from itertools import accumulate

from mcp_memory.recall.config import PhaseConfig
from mcp_memory.search.ranking import RankedChunk
from mcp_memory.text.tokens import CHARS_PER_TOKEN

FEWEST_TOKENS = 500
"""Of a question's answer, if so much is found."""


def for_prompt(ranked: Sequence[RankedChunk], phase: PhaseConfig) -> list[RankedChunk]:
    """Those that probably help with a prompt."""
    best = max((chunk.relevance for chunk in ranked), default=0.0)
    least = max(phase.least_relevance, phase.least_share * best)
    return [chunk for chunk in ranked if chunk.relevance >= least]


def for_question(ranked: Sequence[RankedChunk], phase: PhaseConfig) -> list[RankedChunk]:
    """Those in reach of the best, and as many more as `FEWEST_TOKENS` have room for: further ones rarely hold what a
    question asks for."""
    least = phase.least_share * ranked[0].score if ranked else 0.0
    before = accumulate((len(chunk.passage.chunk.text) for chunk in ranked), initial=0)
    room = FEWEST_TOKENS * CHARS_PER_TOKEN
    pairs = zip(ranked, before, strict=False)
    return [chunk for chunk, chars in pairs if chunk.score >= least or chars < room]
