"""Trains, once for each embedding model, what tells prompts that want memory and how sure an answer is.

The examples are shipped: prompts of both sorts, and questions about a small vault. The result is stored beside the
compiled models; for the bundled model it is shipped too.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.runtime.private_files import replace_file
from mcp_memory.search.calibration_fit import CalibrationSample, fit_confidence, pin_threshold
from mcp_memory.search.confidence import MODELS, ConfidenceFeatures
from mcp_memory.search.confidence_config import UNSURE, UNWANTED, ConfidenceConfig
from mcp_memory.search.memory_intent import MemoryIntent, train_memory_intent

SHIPPED = Path(__file__).with_name("examples")
EXAMPLES, PASSAGES, QUESTIONS = (SHIPPED / f"{name}.jsonl" for name in ("prompts", "passages", "questions"))
"""How well the passages cover each question was found by the whole search (`python -m tests.eval.rehearsal` writes
both), so that only the cosines depend on the model."""

LOST = 0.05
"""The share of what can be answered, and of the prompts that want memory, that lies below the shipped thresholds: the
bundled model loses as much."""

DIGITS = 4

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class TrainedClassifier:
    """What a model has learned: which prompts want memory, and how much each sign of an answer counts with it."""

    memory_intent: MemoryIntent
    confidence: ConfidenceConfig


class ClassifierTraining:
    """Knows what models have learned. All but `trained_for` reads and writes files, for worker threads."""

    def __init__(self, folder: Path, config: ConfidenceConfig) -> None:
        """`folder` is where results are kept; `config` holds for the model that it names."""
        self._folder = folder
        self._config = config
        self._known: dict[str, TrainedClassifier] = {}

    def trained_for(self, embedder: Embedder) -> TrainedClassifier | None:
        """None for a model that was neither looked up nor taught."""
        return self._known.get(embedder.fingerprint)

    def load(self, embedder: Embedder) -> TrainedClassifier | None:
        """What the model learned before; None where that was never, or of other examples."""
        if found := self._read(embedder.fingerprint, embedder.dimension):
            self._known[embedder.fingerprint] = found
        return found

    def train(self, embedder: Embedder) -> TrainedClassifier:
        """Takes a few milliseconds for each of 3,200 texts, and some seconds. Raises EmbedderUnavailable."""
        prompts, wanted = examples()
        vectors = np.stack([embedder.embed_query(prompt) for prompt in prompts])
        if not np.isfinite(vectors).all():
            raise EmbedderUnavailable("the model gives vectors that are no numbers")
        learned = train_memory_intent(prompts, vectors, wanted)
        # As it will be read from the file, so that the answers are the same tomorrow.
        wordings = {each: round(weight, DIGITS) for each, weight in learned.wordings.items()}
        wanting = MemoryIntent(np.round(learned.weights, DIGITS), wordings, round(learned.doubt, DIGITS))
        fits = self._config.fits(embedder.fingerprint)
        found = TrainedClassifier(wanting, self._config if fits else fit_to_model(embedder, wanting, self._config))
        self._known[embedder.fingerprint] = found
        self._keep(embedder.fingerprint, found)
        return found

    def _read(self, fingerprint: str, dimension: int) -> TrainedClassifier | None:
        name = _name(fingerprint)
        for file in (self._folder / name, SHIPPED / name):
            try:
                said = json.loads(file.read_text(encoding="utf-8"))
                wordings = {str(each): float(weight) for each, weight in said["wordings"].items()}
                wanting = MemoryIntent(np.array(said["weights"], dtype=np.float32), wordings, float(said["doubt"]))
                config = self._config if self._config.fits(fingerprint) else _read_weights(said["signs"], self._config)
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue  # not there, or damaged: it is made again
            if wanting.weights.shape == (dimension,) and _is_finite(wanting, config):
                return TrainedClassifier(wanting, config)
        return None

    def _keep(self, fingerprint: str, found: TrainedClassifier) -> None:
        wanting = found.memory_intent
        weights = [round(weight, DIGITS) for weight in wanting.weights.tolist()]
        said = {"model": fingerprint, "doubt": wanting.doubt, "weights": weights, "wordings": wanting.wordings}
        if not self._config.fits(fingerprint):
            said["signs"] = {name: getattr(found.confidence, name) for name in MODELS.values()}
        try:
            replace_file(self._folder / _name(fingerprint), json.dumps(said, ensure_ascii=False).encode())
        except OSError as error:  # it is known until the daemon ends, and learned again then
            log.warning("what the model learned cannot be kept: %s", error.strerror)


def _read_weights(said: Mapping[str, Sequence[float]], now: ConfidenceConfig) -> ConfidenceConfig:
    """Raises KeyError, TypeError or ValueError for what is not in the form of `now`."""
    found = {name: tuple(map(float, said[name])) for name in MODELS.values()}
    if any(len(weights) != len(getattr(now, name)) for name, weights in found.items()):
        raise ValueError("another number of signs")
    return replace(now, **found)


def _is_finite(wanting: MemoryIntent, config: ConfidenceConfig) -> bool:
    """JSON, as Python reads it, has a NaN: whatever it touches is as good as not there, and no error says so."""
    signs = [weight for name in MODELS.values() for weight in getattr(config, name)]
    return bool(np.isfinite([*wanting.weights, *wanting.wordings.values(), wanting.doubt, *signs]).all())


def examples() -> tuple[Sequence[str], Sequence[bool]]:
    """Prompts, and of each whether memory is wanted."""
    rows = list(_rows(EXAMPLES))
    return [row["prompt"] for row in rows], [row["wanted"] for row in rows]


@cache
def _name(fingerprint: str) -> str:
    """Another one where the examples are others."""
    read = b"".join(file.read_bytes() for file in (EXAMPLES, PASSAGES, QUESTIONS))
    return f"taught-{hashlib.sha256(fingerprint.encode() + read).hexdigest()[:16]}.json"


def fit_to_model(embedder: Embedder, wanting: MemoryIntent, now: ConfidenceConfig) -> ConfidenceConfig:
    """`now` with the weights for this model, so that the thresholds keep their meaning. Embeds some 900 texts. Raises
    EmbedderUnavailable."""
    passages = embedder.embed_documents([row["text"] for row in _rows(PASSAGES)])
    asked: dict[str, list[CalibrationSample]] = {"questions": [], "prompts": []}
    for row in _rows(QUESTIONS):
        vector = embedder.embed_query(row["text"])
        wanted = wanting.log_odds(row["text"], vector) if row["prompt"] else None
        signs = ConfidenceFeatures(row["closest"], row["together"], float(np.max(passages @ vector)), wanted)
        asked["prompts" if row["prompt"] else "questions"].append(CalibrationSample(signs, row["answerable"]))
    found = fit_confidence(asked, now, embedder.fingerprint)
    without_words = [
        CalibrationSample(ConfidenceFeatures(cosine=each.signs.cosine), each.answerable) for each in asked["questions"]
    ]
    for tried, threshold in ((asked["questions"], UNSURE), (without_words, UNSURE), (asked["prompts"], UNWANTED)):
        found = pin_threshold(found, tried, threshold, LOST)
    return replace(found, words=now.words)  # which are the same for every model


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    return map(json.loads, file.read_text(encoding="utf-8").splitlines())
