"""Estimates how likely it is that memory holds the answer to a question. Pure functions on values.

Three things tell, measured on questions of which the answer is there and questions about somebody else's life: how much
of the question the best passage says, rare words counting more (AUROC .86), how much the first five say together (.88),
and the best cosine (.86). Together .92. A question about a true fact with the wrong person in it is told apart with .63
only: the passage that holds the fact looks like an answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from mcp_memory.models import Passage
from mcp_memory.search.confidence_config import ConfidenceConfig
from mcp_memory.text.language.identifiers import is_said, names_known, words_and_parts
from mcp_memory.text.language.terms import words

MODELS = {1: "vectors", 2: "words", 3: "words_and_vectors", 4: "prompts"}
"""Which weights of the configuration are for so many signs."""

TOGETHER = 5
"""So many of the first passages say together what one alone need not."""

FEWEST = 50
"""A vault of fewer passages is taken for a part of one with so many. In how many of three passages a word occurs says
nothing of how rare it is: by that alone a word that the only one has weighs a fifth of one that it has not."""

RISE = 0.03
"""Of the best cosine with the logarithm of the number of passages, in a small vault: of one passage that answers a
question, 25 % of the developer's and 10 % of the conversations' were called weak, and of fifty 8 and 5 %; now 6 and 1,
and of one passage that does not answer 97 and 83 %. The best of passages that have nothing to do with the question
rises by .056 and .059."""


def coverage(
    frequencies: Mapping[str, int],
    chunks: int,
    passages: Sequence[Passage],
    *,
    with_log_headings: bool = False,
    meant: Mapping[str, str] = MappingProxyType({}),
) -> float:
    """The share of the question's words that the passages have, 0 to 1, each weighing its inverse document frequency.

    `frequencies`: in how many of all `chunks` each word of the question occurs. The weight is BM25's, so a word that
    occurs nowhere weighs most. Few chunks count as `FEWEST`, the others without these words. An identifier may be
    written in another way. Title and headings count too, in a log only where that is wanted. `meant`: for words that
    occur nowhere, how they may have been meant.
    """
    told = frozenset[str]().union(
        *(
            words_and_parts(f"{'' if each.note.is_log and not with_log_headings else _place(each)} {each.chunk.text}")
            for each in passages
        )
    )
    weights = {word: _idf(count, max(chunks, FEWEST)) for word, count in frequencies.items()}
    whole = sum(weights.values())
    covered = sum(weight for word, weight in weights.items() if is_said(meant.get(word, word), told))
    return covered / whole if whole else 0.0


NAMES = 0.25
"""Of a question's words. From .2 to .34 it makes no difference to whether any prompt of six people is answered; `fix
the E4021 error` needs .25."""


def is_named(question: str, first: Sequence[Passage]) -> bool:
    """Whether a question is little but names in code that the first passages have: `E4021`, `what about pg_dump`. A
    model of language knows nothing of those, and there is no wording that could tell whether memory is wanted."""
    known = names_known(question, " ".join(f"{_place(each)} {each.chunk.text}" for each in first))
    return known > 0 and known >= NAMES * len(words(question))


def nearness(cosine: float, chunks: int) -> float:
    """The best cosine of any of so many chunks as it would have to be among `FEWEST` to say as much."""
    return cosine + RISE * math.log(FEWEST / chunks) if 0 < chunks < FEWEST else cosine


@dataclass(frozen=True, slots=True)
class ConfidenceFeatures:
    """What tells whether a question can be answered; None for what there was nothing to tell from: a question without
    words, an index without vectors, a name in code, of which a model of language knows nothing."""

    closest: float | None = None
    """How much of the question the best passage says, without a log's headings, 0 to 1."""
    together: float | None = None
    """How much the first `TOGETHER` say, with them, 0 to 1."""
    cosine: float | None = None
    """The best of any passage, as `nearness` has it."""
    wanting: float | None = None
    """Of a prompt: log-odds that memory is wanted, whatever is stored."""

    @property
    def as_dict(self) -> dict[str, float]:
        every = {"closest": self.closest, "together": self.together, "cosine": self.cosine, "wanting": self.wanting}
        return {name: value for name, value in every.items() if value is not None}


def confidence(signs: ConfidenceFeatures, config: ConfidenceConfig) -> float:
    """The probability that the question can be answered, 0 to 1; 0 where nothing tells. Of a prompt, as far as its
    meaning is known, the probability that what is stored is wanted."""
    if signs.wanting is not None:
        # A prompt of a single emoji has no words, and a young vault no vectors: none of it speaks for memory.
        signs = ConfidenceFeatures(signs.closest or 0.0, signs.together or 0.0, signs.cosine or 0.0, signs.wanting)
    if not (known := signs.as_dict):
        return 0.0
    doubt, *weights = getattr(config, MODELS[len(known)])
    logit = sum(weight * sign for weight, sign in zip(weights, known.values(), strict=True)) - doubt
    return 1.0 / (1.0 + math.exp(-logit))


def _place(passage: Passage) -> str:
    return " ".join([passage.note.title, *passage.chunk.headings])


def _idf(count: int, chunks: int) -> float:
    return math.log1p((max(chunks, count) - count + 0.5) / (count + 0.5))
