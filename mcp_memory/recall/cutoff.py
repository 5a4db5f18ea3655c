"""End an answer where the scores of its passages drop, even if the budget has room for more. Pure functions."""

from collections.abc import Sequence
from itertools import accumulate

from mcp_memory.comparison.comparison import Comparison
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.recall.config import PhaseConfig
from mcp_memory.search.ranking import RankedChunk
from mcp_memory.text.tokens import CHARS_PER_TOKEN
from mcp_memory.vault.succession.entry_marks import note_of

FEWEST_TOKENS = 500
"""The tokens that a question's answer may fill with passages above `FEWEST_SHARE` of the best score."""
FEWEST_SHARE = 0.4
"""The share of the best score that a passage needs within `FEWEST_TOKENS`; otherwise short notes of agents would fill
these tokens regardless of their content. Measured on notes of eleven people (`agents` and `agents_held_out` in
`tests/eval/topics`): 4 notes are shown instead of 8, with 915 of 930 answers instead of 916. A developer's evidence is
.946 instead of .949, for 499 tokens instead of 759. Conversations and documentation don't change."""

MOST_WEAK = 5
"""The most passages if probably none answers and all are about as near. Measured: it keeps .930 instead of .946 of a
developer's evidence, and .919 instead of .924 of the evidence about conversations. Without the limit, a question
without an answer got 700 tokens."""

STATEMENT_CHARS = 300
"""The most characters of a statement."""


def for_prompt(ranked: Sequence[RankedChunk], phase: PhaseConfig) -> list[RankedChunk]:
    """Return the passages that probably help with a prompt."""
    best = max((chunk.relevance for chunk in ranked), default=0.0)
    least = max(phase.least_relevance, phase.least_share * best)
    return [chunk for chunk in ranked if chunk.relevance >= least]


def told_once(ranked: Sequence[RankedChunk]) -> list[RankedChunk]:
    """Skip a short passage if another note of its project has all its words and the same facts. An agent's note often
    repeats what you said in a session. If both have the same words, the better one stays."""

    def is_said_by(at: int, other: int) -> bool:
        one, two = ranked[at].passage, ranked[other].passage
        if one.shown_id == two.shown_id or note_of(one).project != note_of(two).project:
            return False
        first, second = NoteText(one.chunk.text), NoteText(two.chunk.text)
        return Comparison(second, first).adds_nothing and (other < at or not Comparison(first, second).adds_nothing)

    places = range(len(ranked))
    return [
        ranked[at]
        for at in places
        if len(ranked[at].passage.chunk.text) > STATEMENT_CHARS or not any(is_said_by(at, other) for other in places)
    ]


def for_question(ranked: Sequence[RankedChunk], phase: PhaseConfig, *, is_weak: bool = False) -> list[RankedChunk]:
    """Return the passages within reach of the best, and further passages up to `FEWEST_TOKENS`: later ones rarely have
    what a question asks for."""
    ranked = ranked[:MOST_WEAK] if is_weak else ranked
    best = ranked[0].score if ranked else 0.0
    least, fewest = phase.least_share * best, min(phase.least_share, FEWEST_SHARE) * best
    before = accumulate((len(chunk.passage.chunk.text) for chunk in ranked), initial=0)
    room = FEWEST_TOKENS * CHARS_PER_TOKEN
    pairs = zip(ranked, before, strict=False)
    return [chunk for chunk, chars in pairs if chunk.score >= (fewest if chars < room else least)]
