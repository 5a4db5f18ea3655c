"""Learns which prompts want memory, from hand-labelled prompts of invented people and the bundled model's vectors.

    python -m tests.benchmarks.train_memory_intent

In a running session a person more often tells than asks. Such messages come from the labelled sessions of
`tests/eval/extraction`; without them, the AUROC of six lived histories by three authors, none of whom had a part in any
fit, is .59 instead of .77. The last 568 examples are the prompts of six people's lived sessions, in English, German and
French, by authors who knew nothing of the program. With them, three further people's, who had no part in it, are told
apart by .75, .78 and .74 instead of .70, .75 and .72. 720 more prompts in French, German and Spanish raised German to
.77 and .84, French from .56 to .63 only, and made a third of what was shown in French right instead of half: left out.

Writes the weights into the package. Fit those of confidence anew afterwards (`fit_confidence`): they take part in it.
After the last training only their doubt was raised from 1.1 to 1.3, by which as many notes that belong are shown (63 of
137 wanting prompts of four lives, each left out; 62 before), .46 of what is shown is right instead of .43, and of seven
people's single prompts .585 instead of .573.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.search.confidence import FittedWeights, fitted_weights
from mcp_memory.search.memory_intent import MemoryIntent, wordings
from tests.benchmarks.extraction_sessions import AT_ONCE, SESSIONS, read_session
from tests.benchmarks.logistic_fit import fit_logistic
from tests.benchmarks.site import models

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

EXAMPLES = Path(__file__).parents[1] / "eval" / "memory_intent" / "examples.jsonl"
WEIGHTS = Path(__file__).parents[2] / "mcp_memory" / "search" / "fitted_weights.json"

PRECISION = 5.0
"""Precision of the prior on the weights. From 10 to 2.5 the AUROC of five people moves by .01 at most."""

MEANING = 2.5
"""The weight of a vector relative to the wordings. From 2 to 6 the mean AUROC of lived histories moves by .025."""

EVERY = 2
"""Each second message that tells something is used: with all, the strangers' single prompts lose more than lived
histories gain."""

FEWEST = 5
"""The least number of examples with a wording. With 2, four times as many wordings gain nothing."""

DIGITS = 4


def examples() -> tuple[list[str], list[bool]]:
    """Returns prompts, and whether each wants memory."""
    rows = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    telling = telling_messages()[::EVERY]
    wanted = [bool(row["wanted"]) for row in rows]
    return [*(row["prompt"] for row in rows), *telling], [*wanted, *(False for _ in telling)]


def telling_messages() -> list[str]:
    """Returns messages of labelled sessions that state something worth storing and ask nothing."""
    found: list[str] = []
    for file in sorted(SESSIONS.glob("*.txt")):
        session = read_session(file)
        telling = {label.offset for label in session.labels if label.mark == AT_ONCE}
        found += [
            message.turn.text
            for message in session.messages
            if message.offset in telling and "?" not in message.turn.text
        ]
    return found


def train_memory_intent(prompts: Sequence[str], vectors: Vectors, wanted: Sequence[bool]) -> MemoryIntent:
    """Takes prompts, their vectors, shape (n, dimension), and whether memory is wanted for each."""
    found = [wordings(prompt) for prompt in prompts]
    counts = Counter(wording for each in found for wording in each)
    known = sorted(wording for wording, count in counts.items() if count >= FEWEST)
    places = {wording: at for at, wording in enumerate(known)}
    # A rare wording may weigh more than a common one, since there are fewer examples to learn it from.
    rarity = np.array([1 + np.log((1 + len(prompts)) / (1 + counts[wording])) for wording in known])
    rows = np.zeros((len(prompts), len(known)))
    for row, each in zip(rows, found, strict=True):
        here = [places[wording] for wording in each if wording in places]
        if here:
            row[here] = rarity[here] / len(here) ** 0.5
    features = np.hstack([MEANING * vectors.astype(np.float64), rows])
    outcomes = np.array(wanted, dtype=np.float64)
    doubt, *weights = fit_logistic(features, outcomes, np.ones(len(outcomes)), PRECISION).tolist()
    of_vector, of_words = np.split(np.array(weights), [vectors.shape[1]])
    by_wording = dict(zip(known, (rarity * of_words).tolist(), strict=True))
    return MemoryIntent((MEANING * of_vector).astype(np.float32), by_wording, doubt)


def bundled_vectors(prompts: Sequence[str]) -> Vectors:
    """Embeds prompts with the bundled model; shape (n, dimension)."""
    embedder = open_embedder(EmbedderConfig(), models())
    try:
        return np.stack([embedder.embed_query(prompt) for prompt in prompts])
    finally:
        embedder.close()


def write(fitted: FittedWeights) -> None:
    """Writes the weights into the package."""
    intent = fitted.memory_intent
    stored = {
        "model": fitted.model,
        "confidence": [{"doubt": each.doubt, "features": dict(each.features)} for each in fitted.confidence],
        "memory_intent": {
            "doubt": round(intent.doubt, DIGITS),
            "weights": [round(weight, DIGITS) for weight in intent.weights.tolist()],
            "wordings": {wording: round(weight, DIGITS) for wording, weight in intent.wordings.items()},
        },
    }
    WEIGHTS.write_text(f"{json.dumps(stored, ensure_ascii=False)}\n", encoding="utf-8")


def main() -> None:
    prompts, wanted = examples()
    write(replace(fitted_weights(), memory_intent=train_memory_intent(prompts, bundled_vectors(prompts), wanted)))


if __name__ == "__main__":
    main()
