"""Estimates by logistic regression how likely you want a sentence kept.

The first regression uses its cues and phrases and, with a model, the states of the model's middle layers. These
represent the manner of a sentence, while the last layer represents its subject. A second regression uses the states of
the model after adaptation to such sentences.

`tests/benchmarks/train_statements.py` fits `weights.json` to the labelled sets, and `train_adapter.py` fits the second
regression. The weights for states belong to the bundled model. With any other model, or none, only cues and phrases are
used.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import McpMemoryError
from mcp_memory.statements.spoken import SpokenSentence
from mcp_memory.statements.user_sentences import UserSentence

States = npt.NDArray[np.float32]

AT_ONCE = 64
"""The most texts in a call. A model that needs two seconds for a call is treated as hung, and queries run without
it."""

ONCE, PROPOSED = 0.8, 0.5
"""The likelihoods from which a sentence is stored at once, or proposed."""
PERSONAL = 0.5
"""The likelihood from which a sentence applies to you in every project."""

ADAPTED_SHARE = 0.3
"""The weight of the adapted model against the first regression. It lets more sentences be stored at equal precision."""

_WORD = re.compile(r"[\w’▪]+")
_T = TypeVar("_T")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Weights:
    """The weights of a regression. `rows` has a row for each likelihood, whose last column is the constant. `phrases`
    maps a phrase to its contribution to the rows."""

    rows: npt.NDArray[np.float64]
    phrases: Mapping[str, Sequence[float]]

    def sums(self, seen: npt.NDArray[np.float64], view: str = "") -> npt.NDArray[np.float64]:
        """Return the log-odds of each likelihood."""
        sums = self.rows[:, :-1] @ seen + self.rows[:, -1]
        for one in phrases(view) & self.phrases.keys():
            sums += self.phrases[one]
        return sums

    def likelihoods(self, seen: npt.NDArray[np.float64], view: str = "") -> npt.NDArray[np.float64]:
        return 1 / (1 + np.exp(-self.sums(seen, view)))


@cache
def _weights() -> dict[str, Weights]:
    table = json.loads((files("mcp_memory.statements") / "weights.json").read_text("utf-8"))
    return {name: Weights(np.array(way["rows"]), way["phrases"]) for name, way in table.items()}


def phrases(view: str) -> set[str]:
    """Return the words of a sentence, and its pairs of words."""
    words = _WORD.findall(view)
    return {*words, *map(" ".join, pairwise(words))}


def in_context(spoken: Sequence[SpokenSentence], embed: Callable[[Sequence[str]], States | None]) -> States | None:
    """Return the states of each sentence, of its neighbours, of its message's opening sentence, and of the sentence
    that it answers. The opening sentence, such as `look what they wrote`, is skipped if the sentence is on the first
    line. Shape (sentences, 4 * width)."""
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


def likelihoods(
    sentence: UserSentence, features: Sequence[float], states: States | None, adapted: States | None
) -> tuple[float, float]:
    """Return the likelihoods that a sentence should be stored at once, and that it should be stored or proposed, from
    its states in context and the states of the adapted model."""
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
    """Return the likelihood from the weights of this name, which have a single row."""
    return each_likelihood(way, features, *states, view=view)[0]


def each_likelihood(way: str, features: Sequence[float], *states: States, view: str) -> list[float]:
    """Return a likelihood for each row of the weights of this name."""
    return _weights()[way].likelihoods(np.concatenate([features, *states]), view).tolist()


@dataclass(frozen=True)
class SentenceModel:
    """Embeds sentences. Each answer is None without the bundled model, or if it fails; then only cues decide."""

    embedder: Embedder

    def states(self, texts: Sequence[str]) -> States | None:
        """Return the states of the middle layers. Shape (texts, width)."""
        return _in_batches(self.embedder.inner_states, texts)

    def states_in_context(self, spoken: Sequence[SpokenSentence]) -> States | None:
        """Return the states of sentences in context from the adapted model. Shape (sentences, width)."""
        return _in_batches(self.embedder.states_in_context, [one.in_context for one in spoken])


def _in_batches(ask: Callable[[Sequence[_T]], States | None], items: Sequence[_T]) -> States | None:
    found: list[States] = []
    try:
        for at in range(0, len(items), AT_ONCE):
            states = ask(items[at : at + AT_ONCE])
            if states is None:
                return None
            found.append(states)
    except McpMemoryError as error:
        log.warning("sentences are judged without a model: %s", error.code)
        return None
    return np.concatenate(found) if found else None
