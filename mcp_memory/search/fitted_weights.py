"""Load the weights that were fitted to the bundled model, for confidence and for prompts that need memory.

`fitted_weights.json` is written by `tests/benchmarks/train_memory_intent.py` and `tests/benchmarks/fit_confidence.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from mcp_memory.search.memory_intent import MemoryIntent

if TYPE_CHECKING:
    from mcp_memory.embedders.base import Embedder


@dataclass(frozen=True, slots=True)
class ConfidenceWeights:
    """A logistic model: the doubt, which is subtracted, and the weight of each feature."""

    doubt: float
    features: Mapping[str, float]

    def log_odds(self, values: Mapping[str, float]) -> float:
        """Return the log-odds for these values, one for each feature."""
        return sum(weight * values[name] for name, weight in self.features.items()) - self.doubt


@dataclass(frozen=True, slots=True, eq=False)
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
    return FittedWeights(stored["model"], confidence, _memory_intent(stored["memory_intent"]))


def _memory_intent(stored: Mapping[str, Any]) -> MemoryIntent:
    return MemoryIntent(np.array(stored["weights"], dtype=np.float32), stored["wordings"], stored["doubt"])
