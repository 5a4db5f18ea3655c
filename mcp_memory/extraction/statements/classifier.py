"""Judges by logistic regression how likely you want a sentence kept: by its cues and phrases and, with a model, by what
the model's middle layers make of it. They tell how something is said; the last one tells what it is about. Beside it a
second regression looks at what the model makes of it when it is adapted to such sentences.

`tests/benchmarks/train_statements.py` fits `weights.json` on the labelled sets, `train_adapter.py` the second. The
weights for the model are for the bundled one; with any other, or none, cues and phrases decide alone.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mcp_memory.extraction.statements.sentence_model import States
from mcp_memory.extraction.statements.spoken import SpokenSentence
from mcp_memory.extraction.user_sentences import UserSentence

ONCE, PROPOSED = 0.75, 0.2
"""Stored at once, or proposed, from this likelihood on."""
PERSONAL, LEANS_ON_IT = 0.5, 0.2
"""Holds for you in every project, or says little without what it answers, from this likelihood on."""

ADAPTED_SHARE = 0.3
"""Of what the adapted model says, beside what the other says: of two rounds of authors left out, with .92 right, .59
and .62 can be stored, and .48 and .55 without it."""

_WORD = re.compile(r"[\w’▪]+")


@dataclass(frozen=True, slots=True)
class Weights:
    """`rows`: one for each likelihood, the last column its constant. `phrases`: what each phrase adds to the rows."""

    rows: npt.NDArray[np.float64]
    phrases: Mapping[str, Sequence[float]]

    def sums(self, seen: npt.NDArray[np.float64], view: str = "") -> npt.NDArray[np.float64]:
        """The log-odds of each likelihood."""
        sums = self.rows[:, :-1] @ seen + self.rows[:, -1]
        for one in phrases(view) & self.phrases.keys():
            sums += self.phrases[one]
        return sums

    def likelihoods(self, seen: npt.NDArray[np.float64], view: str = "") -> npt.NDArray[np.float64]:
        return 1 / (1 + np.exp(-self.sums(seen, view)))


@cache
def _weights() -> dict[str, Weights]:
    table = json.loads((files("mcp_memory.extraction.statements") / "weights.json").read_text("utf-8"))
    return {name: Weights(np.array(way["rows"]), way["phrases"]) for name, way in table.items()}


def phrases(view: str) -> set[str]:
    """The words of a sentence, and its pairs of words."""
    words = _WORD.findall(view)
    return {*words, *map(" ".join, pairwise(words))}


def in_context(spoken: Sequence[SpokenSentence], embed: Callable[[Sequence[str]], States | None]) -> States | None:
    """The states of each sentence; of the sentences beside it; below the first line of its message, of the one that
    opens it, such as `look what they wrote`; and of what it answers. Shape (sentences, 4 * width)."""
    answered = [one.answered for one in spoken]
    texts = [*(one.sentence.text for one in spoken), *filter(None, answered)]
    states = embed(texts) if texts else None
    if states is None:
        return None
    none, of_answered = np.zeros_like(states[0]), iter(states[len(spoken) :])
    rows: list[States] = []
    for at, (one, question) in enumerate(zip(spoken, answered, strict=True)):
        beside = sum((states[at + step] for step in one.beside), none)
        opening = states[at - one.place] if one.sentence.line else none
        rows.append(np.concatenate([states[at], beside, opening, next(of_answered) if question else none]))
    return np.array(rows, dtype=np.float32)


def own_states(around: States) -> States:
    """Those of the sentence alone, of its states in context."""
    return around[: around.size // 4]


def answered_states(around: States) -> States:
    return around[-around.size // 4 :]


def likelihoods(
    sentence: UserSentence, features: Sequence[float], states: States | None, adapted: States | None
) -> tuple[float, float]:
    """How likely a sentence deserves to be stored at once, and to be stored or proposed, by its states in context and
    those of the adapted model."""
    if states is None:
        sums = _weights()["cues"].sums(np.array(features), sentence.view)
    else:
        sums = _weights()["model"].sums(np.concatenate([features, states]), sentence.view)
        if adapted is not None:
            second = _weights()["adapted"].sums(np.concatenate([features, adapted]))
            sums += ADAPTED_SHARE * (second - sums)
    once, kept = 1 / (1 + np.exp(-sums))
    return float(once), float(kept)


def likelihood(way: str, features: Sequence[float], *states: States, view: str = "") -> float:
    """By the weights of that name, for what has one likelihood."""
    return float(_weights()[way].likelihoods(np.concatenate([features, *states]), view)[0])
