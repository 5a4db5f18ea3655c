"""Estimates from a prompt alone how likely it wants memory at all. Pure.

`yes, go on` and `what does 504 mean?` want none, whatever is stored; `why did we drop RabbitMQ?` does, and so does
`write the release notes`, which never mentions the past. What is stored cannot tell these apart. 2,369 prompts of
invented people, labelled by hand, teach the difference to one direction in the space of the embedding model, and to the
words of which a prompt is made: `what is a` and `the selected` speak against it, `our`, `again` and `who` for it.

Measured on the prompts and notes of five others, none of whom taught it (weights fitted on the other four): told by
what is stored and by meaning, AUROC .96, .85, .90, .90 and .85; with the words, and 694 more examples, .99, .93, .97,
.94 and .93. A sixth, who had no part in any choice made here: .92 and .96. How long a prompt is adds nothing to that
beyond chance, nor do the gap behind the best passage, its kind, its distance from the vault's middle, the agreement of
the legs, or how many of the rare words are known.
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
"""Of the prior on the weights. From 10 to 2.5 the figures above move by .01 at most."""

MEANING = 3.5
"""Of a vector beside the words. From 2.5 to 5 the figures above move by .01 at most."""

FIRST, CHARS = 40, 2000
"""So many words and signs of a prompt are read, in so many characters: what is pasted behind them tells less. With 120
people lose .002 AUROC."""

FEWEST = 5
"""Examples that have a wording, for it to be learned. With 2 four times as many tell no more."""

LIMIT = 6.0
"""Log-odds beyond it say no more."""

_PARTS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[^\s\w]|_")


@dataclass(frozen=True, slots=True, eq=False)
class MemoryIntent:
    """`weights` (dimension,) belong to one embedding model; `wordings` have a weight each."""

    weights: Vectors
    wordings: Mapping[str, float]
    doubt: float

    def log_odds(self, prompt: str, vector: Vectors) -> float:
        """Log-odds that memory is wanted, −LIMIT to LIMIT, from the prompt and its vector, shape (dimension,)."""
        known = [weight for each in wordings(prompt) if (weight := self.wordings.get(each)) is not None]
        told = sum(known) / len(known) ** 0.5 if known else 0.0
        return min(max(float(self.weights @ vector) + told - self.doubt, -LIMIT), LIMIT)


def wordings(prompt: str) -> set[str]:
    """The first words of a prompt and its signs, any number being one, and each pair of neighbours; with the beginning
    and, where it is so short, the end."""
    found = [part[0] for part in islice(_PARTS.finditer(prompt[:CHARS].lower()), FIRST)]
    parts = ["^", *("#" if part[0].isdigit() else part for part in found)]
    if len(found) < FIRST:
        parts.append("$")
    return {*parts, *(f"{one} {other}" for one, other in pairwise(parts))}


def train_memory_intent(prompts: Sequence[str], vectors: Vectors, wanted: Sequence[bool]) -> MemoryIntent:
    """From prompts, their vectors, shape (n, dimension), and whether memory is wanted for each."""
    said = [wordings(prompt) for prompt in prompts]
    counts = Counter(each for one in said for each in one)
    known = sorted(each for each, count in counts.items() if count >= FEWEST)
    places = {each: at for at, each in enumerate(known)}
    # A rare wording may weigh more than a common one: it has fewer examples to learn it from.
    rarity = np.array([1 + np.log((1 + len(prompts)) / (1 + counts[each])) for each in known])
    rows = np.zeros((len(prompts), len(known)))
    for row, one in zip(rows, said, strict=True):
        if here := [places[each] for each in one if each in places]:
            row[here] = rarity[here] / len(here) ** 0.5
    signs = np.hstack([MEANING * vectors.astype(np.float64), rows])
    outcomes = np.array(wanted, dtype=np.float64)
    doubt, *weights = fit_logistic(signs, outcomes, np.ones(len(outcomes)), PRECISION).tolist()
    of_vector, of_words = np.split(np.array(weights), [vectors.shape[1]])
    return MemoryIntent(
        (MEANING * of_vector).astype(np.float32), dict(zip(known, (rarity * of_words).tolist(), strict=True)), doubt
    )
