"""Estimates how likely it is that memory holds the answer to a question. Pure functions on values.

Measured on questions whose answer is stored and questions about other people's lives, the share of the question's
words in the best passage, weighted by rarity, has an AUROC of .86. The share in the first five passages together has
.88, the best cosine .86, and all three together .92.

`fitted_weights.json` is written by `tests/benchmarks/train_memory_intent.py` and `tests/benchmarks/fit_confidence.py`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mcp_memory.index.base import ScoredRows
from mcp_memory.models import Passage
from mcp_memory.search.memory_intent import MemoryIntent
from mcp_memory.search.phrases import objects_of
from mcp_memory.text.language.identifiers import is_word_in, names_known, words_and_parts
from mcp_memory.text.language.terms import words

if TYPE_CHECKING:
    from mcp_memory.embedders.base import Embedder


class ConfidenceWeights(NamedTuple):
    """A logistic model: the doubt, which is subtracted, and the weight of each feature."""

    doubt: float
    features: Mapping[str, float]

    def log_odds(self, values: Mapping[str, float]) -> float:
        """Return the log-odds for these values, one for each feature."""
        return sum(weight * values[name] for name, weight in self.features.items()) - self.doubt


@dataclass(frozen=True, eq=False)
class FittedWeights:
    """The weights for answers that come from one embedding model."""

    model: str
    """The name of the model, or a part of it."""
    confidence: tuple[ConfidenceWeights, ...]
    """A model for each set of features that an answer may have."""
    memory_intent: MemoryIntent

    def fit(self, embedder: Embedder) -> bool:
        """Return whether the weights were fitted to this embedder."""
        name, _, _ = embedder.fingerprint.partition("@")
        return self.model in name and embedder.dimension == self.memory_intent.weights.size

    def confidence_by(self, features: Iterable[str]) -> ConfidenceWeights:
        """Return the weights for these features."""
        wanted = set(features)
        return next(weights for weights in self.confidence if set(weights.features) == wanted)


@cache
def fitted_weights() -> FittedWeights:
    """Read the weights once in a process."""
    stored = json.loads((files("mcp_memory.search") / "fitted_weights.json").read_text("utf-8"))
    confidence = tuple(ConfidenceWeights(row["doubt"], row["features"]) for row in stored["confidence"])
    intent = stored["memory_intent"]
    weights = np.array(intent["weights"], dtype=np.float32)
    return FittedWeights(stored["model"], confidence, MemoryIntent(weights, intent["wordings"], intent["doubt"]))


if TYPE_CHECKING:
    from mcp_memory.search.retrievers import KeywordRows

TOGETHER = 5
"""The number of first passages whose words are counted together."""

FEWEST = 50
"""A vault of fewer passages is treated as part of a vault with this many. A count among three passages does not show
how rare a word is: a word in the only passage would have a fifth of the weight of a word that it lacks."""

RISE = 0.03
"""The rise of the best cosine with the logarithm of the number of passages, in a small vault. Without it, answers to 25
% of a developer's answerable questions were called weak in a vault with a single passage; with it, to 6 %. The best
cosine of unrelated passages rises by .056 and .059."""


def known_words(passages: Sequence[Passage], *, with_log_headings: bool = False) -> frozenset[str]:
    """The words of passages, with their titles and headings. The title and headings of a log are included only
    `with_log_headings`."""
    above = ("" if each.note.is_log and not with_log_headings else place_of(each) for each in passages)
    return words_and_parts(" ".join(f"{place} {each.chunk.text}" for place, each in zip(above, passages, strict=True)))


def coverage(
    frequencies: Mapping[str, int], chunks: int, known: Collection[str], meant: Mapping[str, str] = MappingProxyType({})
) -> float:
    """The share of the question's words that are among the `known_words` of passages, 0 to 1, weighted by inverse
    document frequency.

    `frequencies`: in how many of all `chunks` each word of the question occurs. The weight is BM25's, so a word that
    occurs nowhere weighs most. Fewer than `FEWEST` chunks are filled up with chunks without these words. An identifier
    may be written in another way. `meant`: corrected spellings of words that occur nowhere."""
    weights = {word: inverse_frequency(count, chunks) for word, count in frequencies.items()}
    whole = sum(weights.values())
    covered = sum(weight for word, weight in weights.items() if is_word_in(meant.get(word, word), known))
    return covered / whole if whole else 0.0


NAMES = 0.25
"""The least share of a question's words. Between .2 and .34 no prompt of six people is answered differently; `fix the
E4021 error` needs .25."""


def is_named(question: str, first: Sequence[Passage]) -> bool:
    """Return whether a question is little more than names in code that the first passages have: `E4021`, `what about
    pg_dump`. An embedding model doesn't know such names, and no wording shows whether memory is needed. A number or a
    short word in capitals (`8443`, `TLS`) is a name only if it is the whole question."""
    text, asked = " ".join(f"{place_of(passage)} {passage.chunk.text}" for passage in first), words(question)
    if len(asked) == 1 and len(asked[0]) > 2 and (question.isupper() or asked[0].isdigit()):
        return re.search(rf"\b{re.escape(asked[0].upper())}\b", text) is not None
    known = names_known(question, text)
    return known > 0 and known >= NAMES * len(asked)


USUAL_MEAN = 0.1
"""The mean of the bundled model's cosines between a question and the passages of a vault."""

FEWEST_ROWS = 20
"""The mean of fewer cosines is a poor estimate of another model's scale."""


def comparable_cosine(dense: ScoredRows, cosine: float) -> float | None:
    """Convert another model's best cosine to the bundled model's scale, by how far it is from the mean to 1. Return
    None among few passages."""
    if len(dense) < FEWEST_ROWS:
        return None
    mean = float(dense.scores.mean())
    return USUAL_MEAN + (1 - USUAL_MEAN) * (cosine - mean) / (1 - mean) if mean < 1 else None


def nearness(cosine: float, chunks: int) -> float:
    """Convert the best cosine among this number of `chunks` to the equivalent cosine among `FEWEST` chunks."""
    return cosine + RISE * math.log(FEWEST / chunks) if 0 < chunks < FEWEST else cosine


@dataclass(frozen=True)
class ConfidenceFeatures:
    """The features that indicate whether a question can be answered. A feature is None if it cannot be computed, as for
    a question without words, an index without vectors, or a name in code, which embedding models don't know."""

    closest: float | None = None
    """The coverage of the question by the best passage, without a log's headings, 0 to 1."""
    together: float | None = None
    """The coverage by the first `TOGETHER` passages, with headings, 0 to 1."""
    cosine: float | None = None
    """The best of any passage, converted by `nearness`."""
    wanting: float | None = None
    """The log-odds that a prompt needs memory, whatever is stored."""

    @property
    def as_dict(self) -> dict[str, float]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def features(
    first: Sequence[Passage],
    frequencies: Mapping[str, int],
    chunks: int,
    *,
    cosine: float | None,
    has_words: bool,
    meant: Mapping[str, str],
) -> ConfidenceFeatures:
    """Compute the features from the first `TOGETHER` passages and the best cosine. The other arguments are as in
    `coverage`."""
    if not first:
        return ConfidenceFeatures()
    near = None if cosine is None else nearness(cosine, chunks)
    if not has_words:  # an emoji alone is close to anything that the model cannot read either
        return ConfidenceFeatures(0.0, 0.0, near)
    if not frequencies:
        return ConfidenceFeatures(cosine=near)
    alone = known_words(first[:1])
    together = alone | known_words(first if first[0].note.is_log else first[1:], with_log_headings=True)
    closest, all_first = (coverage(frequencies, chunks, known, meant) for known in (alone, together))
    return ConfidenceFeatures(closest, all_first, near)


def first_of_class(best: Sequence[Passage], dense: ScoredRows) -> tuple[Sequence[Passage], float | None]:
    """Return the first `TOGETHER` passages of the same class as the best passage (foreign, or the person's own), and
    the best cosine of this class. With the words of imported manuals beside the person's own words, any question would
    seem answered."""
    first = [passage for passage in best if passage.note.is_foreign is best[0].note.is_foreign]
    near = dense.scores
    if len(first) < len(best):
        near = near[np.isin(dense.ids, [passage.chunk_id for passage in first])]
    return first[:TOGETHER], float(near[0]) if len(near) else None


def answer_features(
    asked: str,
    best: Sequence[Passage],
    keywords: KeywordRows,
    dense: ScoredRows,
    *,
    has_words: bool,
    is_fitted: bool,
    wanting: Callable[[], float | None] | None,
) -> ConfidenceFeatures:
    """Collect the features that indicate whether the best passages answer. `is_fitted`: the cosines are the bundled
    model's. `wanting` returns the log-odds that a prompt needs memory; None for a question."""
    first, cosine = first_of_class(best, dense)
    is_name = bool(keywords.frequencies) and is_named(asked, first)
    is_only_emoji = bool(keywords.frequencies) and not any(map(str.isalnum, asked))  # which a model can't read
    if is_name or is_only_emoji:
        cosine = None
    elif cosine is not None and not is_fitted:
        cosine = comparable_cosine(dense, cosine)
    signs = features(
        first, keywords.frequencies, keywords.chunks, cosine=cosine, has_words=has_words, meant=keywords.meant
    )
    if wanting is None or is_name or not (is_fitted or cosine is not None):
        return signs
    return replace(signs, wanting=wanting())


def confidence(signs: ConfidenceFeatures, fitted: FittedWeights) -> float:
    """The probability that the question can be answered, 0 to 1; 0 without any sign. For a prompt whose meaning is
    known, the probability that it needs the stored notes."""
    if signs.wanting is not None:
        # A prompt of a single emoji has no words, and a young vault no vectors: neither indicates a need for memory.
        signs = ConfidenceFeatures(signs.closest or 0.0, signs.together or 0.0, signs.cosine or 0.0, signs.wanting)
    if not (known := signs.as_dict):
        return 0.0
    return 1.0 / (1.0 + math.exp(-fitted.confidence_by(known).log_odds(known)))


def place_of(passage: Passage) -> str:
    """Return the title of a passage's note and the headings above it; for a note's first passage also its properties,
    and what its phrases under `when` name."""
    note = passage.note
    said = [note.properties, *map(objects_of, note.when)] if passage.ordinal == 0 else list[str]()
    return " ".join([note.title, *passage.chunk.headings, *filter(None, said)])


def inverse_frequency(count: int, chunks: int) -> float:
    """Return the weight of a word that `count` of all chunks have: BM25's weight, in a vault of at least `FEWEST`
    chunks."""
    return math.log1p((max(chunks, FEWEST, count) - count + 0.5) / (count + 0.5))
