"""Estimate from a prompt's words and vector how likely it needs memory at all. Pure.

`yes, go on` and `what does 504 mean?` need none, whatever is stored. `why did we drop RabbitMQ?` needs it, and so does
`write the release notes`, though it never mentions the past. One direction in the embedding space and the weights of
wordings are learned from 2,967 hand-labeled prompts of invented people (`tests/benchmarks/train_memory_intent.py`). For
example, `what is a` and `the selected` are evidence against memory, and `our`, `again` and `who` are evidence for it.

Measured with vector, wordings and stored notes on five other people's prompts: with each person excluded from the fit,
the AUROC is .99, .93, .97, .94 and .93. For a sixth person, it is .96. By prompt alone, it is .74 to .78 on three
people's lived sessions, none of whom had a part in the fit (`tests/benchmarks/train_memory_intent.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_memory.models import Vectors

FIRST, CHARS = 40, 2000
"""The most words and signs of a prompt that are read, and the most characters, since pasted text behind them matters
less. With 120 words, the AUROC falls by .002."""

LIMIT = 6.0
"""The limit of the log-odds, which are clipped to it."""

_PARTS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[^\s\w]|_")


@dataclass(frozen=True, eq=False)
class MemoryIntent:
    """The trained weights: `weights` (dimension,) belong to one embedding model; `wordings` have a weight each."""

    weights: Vectors
    wordings: Mapping[str, float]
    doubt: float

    def log_odds(self, prompt: str, vector: Vectors | None = None) -> float:
        """Return the log-odds that memory is needed, −LIMIT to LIMIT, from the prompt and, for the model that the
        weights belong to, its vector, shape (dimension,)."""
        known = [weight for wording in wordings(prompt) if (weight := self.wordings.get(wording)) is not None]
        by_wording = sum(known) / len(known) ** 0.5 if known else 0.0
        by_meaning = 0.0 if vector is None else float(self.weights @ vector)
        return min(max(by_meaning + by_wording - self.doubt, -LIMIT), LIMIT)


def wordings(prompt: str) -> set[str]:
    """Return the first words and signs of a prompt, with `#` for a number, and each pair of neighbors; `^` is the
    beginning, `$` the end."""
    found = [part[0] for part in islice(_PARTS.finditer(prompt[:CHARS].lower()), FIRST)]
    parts = ["^", *("#" if part[0].isdigit() else part for part in found)]
    if len(found) < FIRST:
        parts.append("$")
    return {*parts, *(f"{one} {other}" for one, other in pairwise(parts))}
