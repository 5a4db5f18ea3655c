"""Trains, once for each embedding model, the classifier of prompts that want memory and the weights of confidence.

The examples are shipped: prompts of both kinds, and questions about a small vault. The result is stored beside the
compiled models; for the bundled model it is shipped too. With half of MiniLM as the model, five strangers' prompts are
told apart with AUROC .91 to .97, and 2 to 17 % of those that want memory are silenced; by words alone .56 to .64 and
32 to 60 %.
"""

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
from mcp_memory.search.confidence import SIGNS, ConfidenceFeatures
from mcp_memory.search.confidence_config import UNSURE, UNWANTED, ConfidenceConfig
from mcp_memory.search.memory_intent import MemoryIntent, train_memory_intent

SHIPPED = Path(__file__).with_name("examples")
EXAMPLES, PASSAGES, QUESTIONS = (SHIPPED / f"{name}.jsonl" for name in ("prompts", "passages", "questions"))
"""How well the passages cover each question was computed by the whole search (`python -m tests.eval.rehearsal` writes
both), so that only the cosines depend on the model."""

LOST = 0.05
"""The share of answerable questions, and of prompts that want memory, below the shipped thresholds; the same as with
the bundled model."""

DIGITS = 4

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class TrainedClassifier:
    """What was trained for a model: which prompts want memory, and the weights of the signs of an answer."""

    memory_intent: MemoryIntent
    confidence: ConfidenceConfig


class ClassifierTraining:
    """Trains models and keeps the results. Call all but `trained_for` in worker threads."""

    def __init__(self, folder: Path, config: ConfidenceConfig) -> None:
        """`folder` is where results are kept; `config` is for the model that it names."""
        self._folder = folder
        self._config = config
        self._known: dict[str, TrainedClassifier] = {}

    def trained_for(self, embedder: Embedder) -> TrainedClassifier | None:
        """None for a model that was neither loaded nor trained."""
        return self._known.get(embedder.fingerprint)

    def load(self, embedder: Embedder) -> TrainedClassifier | None:
        """The stored result; None if the model was never trained with these examples."""
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
        # Rounded as in the file, so that the answers stay the same after a restart.
        wordings = {wording: round(weight, DIGITS) for wording, weight in learned.wordings.items()}
        intent = MemoryIntent(np.round(learned.weights, DIGITS), wordings, round(learned.doubt, DIGITS))
        fits = self._config.fits(embedder.fingerprint)
        found = TrainedClassifier(intent, self._config if fits else fit_to_model(embedder, intent, self._config))
        self._known[embedder.fingerprint] = found
        self._keep(embedder.fingerprint, found)
        return found

    def _read(self, fingerprint: str, dimension: int) -> TrainedClassifier | None:
        name = _name(fingerprint)
        for file in (self._folder / name, SHIPPED / name):
            try:
                stored = json.loads(file.read_text(encoding="utf-8"))
                wordings = {str(wording): float(weight) for wording, weight in stored["wordings"].items()}
                intent = MemoryIntent(np.array(stored["weights"], dtype=np.float32), wordings, float(stored["doubt"]))
                fits = self._config.fits(fingerprint)
                config = self._config if fits else _read_weights(stored["signs"], self._config)
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue  # missing or damaged: it is trained again
            if intent.weights.shape == (dimension,) and _is_finite(intent, config):
                return TrainedClassifier(intent, config)
        return None

    def _keep(self, fingerprint: str, found: TrainedClassifier) -> None:
        intent = found.memory_intent
        weights = [round(weight, DIGITS) for weight in intent.weights.tolist()]
        stored = {"model": fingerprint, "doubt": intent.doubt, "weights": weights, "wordings": intent.wordings}
        if not self._config.fits(fingerprint):
            stored["signs"] = {name: getattr(found.confidence, name) for name in SIGNS}
        try:
            replace_file(self._folder / _name(fingerprint), json.dumps(stored, ensure_ascii=False).encode())
        except OSError as error:  # the next daemon trains it again
            log.warning("what the model learned cannot be kept: %s", error.strerror)


def _read_weights(stored: Mapping[str, Sequence[float]], now: ConfidenceConfig) -> ConfidenceConfig:
    """Raises KeyError, TypeError or ValueError for weights in another form than those of `now`."""
    found = {name: tuple(map(float, stored[name])) for name in SIGNS}
    if any(len(weights) != len(getattr(now, name)) for name, weights in found.items()):
        raise ValueError("another number of signs")
    return replace(now, **found)


def _is_finite(intent: MemoryIntent, config: ConfidenceConfig) -> bool:
    """False for NaN, which Python reads from JSON and which would silently spoil every answer."""
    signs = [weight for name in SIGNS for weight in getattr(config, name)]
    return bool(np.isfinite([*intent.weights, *intent.wordings.values(), intent.doubt, *signs]).all())


def examples() -> tuple[Sequence[str], Sequence[bool]]:
    """Prompts, and whether each wants memory."""
    rows = list(_rows(EXAMPLES))
    return [row["prompt"] for row in rows], [row["wanted"] for row in rows]


@cache
def _name(fingerprint: str) -> str:
    """The name of the file; it changes with the examples."""
    read = b"".join(file.read_bytes() for file in (EXAMPLES, PASSAGES, QUESTIONS))
    return f"taught-{hashlib.sha256(fingerprint.encode() + read).hexdigest()[:16]}.json"


def fit_to_model(embedder: Embedder, intent: MemoryIntent, now: ConfidenceConfig) -> ConfidenceConfig:
    """`now` with the weights for this model, so that the thresholds keep their meaning. Embeds about 900 texts. Raises
    EmbedderUnavailable."""
    passages = embedder.embed_documents([row["text"] for row in _rows(PASSAGES)])
    questions: list[CalibrationSample] = []
    prompts: list[CalibrationSample] = []
    for row in _rows(QUESTIONS):
        vector = embedder.embed_query(row["text"])
        wanted = intent.log_odds(row["text"], vector) if row["prompt"] else None
        signs = ConfidenceFeatures(row["closest"], row["together"], float(np.max(passages @ vector)), wanted)
        (prompts if row["prompt"] else questions).append(CalibrationSample(signs, row["answerable"]))
    found = fit_confidence({"questions": questions, "prompts": prompts}, now, embedder.fingerprint)
    without_words = [
        CalibrationSample(ConfidenceFeatures(cosine=sample.signs.cosine), sample.answerable) for sample in questions
    ]
    for samples, threshold in ((questions, UNSURE), (without_words, UNSURE), (prompts, UNWANTED)):
        found = pin_threshold(found, samples, threshold, LOST)
    return replace(found, words=now.words)  # the same for every model


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    return map(json.loads, file.read_text(encoding="utf-8").splitlines())
