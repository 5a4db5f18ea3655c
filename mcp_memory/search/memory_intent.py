"""Estimate from a prompt's words and vector how likely it wants memory at all. Pure.

`yes, go on` and `what does 504 mean?` want none, whatever is stored; `why did we drop RabbitMQ?` does, and so does
`write the release notes`, though it never mentions the past. One direction in the embedding space and the weights of
wordings are learned from 2,369 hand-labeled prompts of invented people: `what is a` and `the selected` count against
memory, `our`, `again` and `who` for it.

Measured on the prompts and notes of five other people, with weights fitted on the other four. With the vector and the
stored notes, AUROC is .96, .85, .90, .90 and .85; with wordings and 694 more examples .99, .93, .97, .94 and .93. A
sixth person, who had no part in any choice made here: .92 and .96. Further features add nothing beyond chance: a
prompt's length, the gap after the best passage, its kind, its distance from the vault's mean, agreement between
retrievers, the number of known rare words.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.search.calibration_fit import fit_logistic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_memory.models import Vectors

PRECISION = 5.0
"""The precision of the prior on the weights. From 10 to 2.5 the figures above move by .01 at most."""

MEANING = 3.5
"""The weight of a vector relative to the wordings. From 2.5 to 5 the figures above move by .01 at most."""

FIRST, CHARS = 40, 2000
"""The most words and signs of a prompt that are read, and the most characters, since pasted text behind them matters
less. With 120 words, the AUROC falls by .002.
"""

FEWEST = 5
"""The least number of examples with a wording. With 2, four times as many wordings gain nothing."""

LIMIT = 6.0
"""The limit of the log-odds, which are clipped to it."""

_PARTS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[^\s\w]|_")


@dataclass(frozen=True, slots=True, eq=False)
class MemoryIntent:
    """The trained weights: `weights` (dimension,) belong to one embedding model; `wordings` have a weight each."""

    weights: Vectors
    wordings: Mapping[str, float]
    doubt: float

    def log_odds(self, prompt: str, vector: Vectors) -> float:
        """Return the log-odds that memory is wanted, −LIMIT to LIMIT, from the prompt and its vector, shape
        (dimension,).
        """
        known = [weight for wording in wordings(prompt) if (weight := self.wordings.get(wording)) is not None]
        by_wording = sum(known) / len(known) ** 0.5 if known else 0.0
        return min(max(float(self.weights @ vector) + by_wording - self.doubt, -LIMIT), LIMIT)


def wordings(prompt: str) -> set[str]:
    """Return the first words and signs of a prompt, with `#` for a number, and each pair of neighbors; `^` is the
    beginning, `$` the end.
    """
    found = [part[0] for part in islice(_PARTS.finditer(prompt[:CHARS].lower()), FIRST)]
    parts = ["^", *("#" if part[0].isdigit() else part for part in found)]
    if len(found) < FIRST:
        parts.append("$")
    return {*parts, *(f"{one} {other}" for one, other in pairwise(parts))}


def train_memory_intent(prompts: Sequence[str], vectors: Vectors, wanted: Sequence[bool]) -> MemoryIntent:
    """Train from prompts, their vectors, shape (n, dimension), and whether memory is wanted for each."""
    found = [wordings(prompt) for prompt in prompts]
    counts = Counter(wording for each in found for wording in each)
    known = sorted(wording for wording, count in counts.items() if count >= FEWEST)
    places = {wording: at for at, wording in enumerate(known)}
    # A rare wording may weigh more than a common one, since there are fewer examples to learn it from.
    rarity = np.array([1 + np.log((1 + len(prompts)) / (1 + counts[wording])) for wording in known])
    rows = np.zeros((len(prompts), len(known)))
    for row, each in zip(rows, found, strict=True):
        if here := [places[wording] for wording in each if wording in places]:
            row[here] = rarity[here] / len(here) ** 0.5
    signs = np.hstack([MEANING * vectors.astype(np.float64), rows])
    outcomes = np.array(wanted, dtype=np.float64)
    doubt, *weights = fit_logistic(signs, outcomes, np.ones(len(outcomes)), PRECISION).tolist()
    of_vector, of_words = np.split(np.array(weights), [vectors.shape[1]])
    return MemoryIntent(
        (MEANING * of_vector).astype(np.float32), dict(zip(known, (rarity * of_words).tolist(), strict=True)), doubt
    )
